// Tilewright's runtime for programs in C and C++. Made by cbindgen from capi/src and target/src/comm_provider.rs; the test
// `header` of the package tilewright-capi compares, and rewrites it with UPDATE_HEADER=1.
//
// A function that gives a pointer gives null on failure, one that gives a status gives 0 on success and 1 on failure;
// `tw_last_error` then has the sentence. Objects may be freed in any order. Objects of one communicator are used by one thread
// at a time. Null where an object is needed is a failure, not a crash.


#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stdint.h>

// Version of the functions and types of this header, that of communicator providers aside. It rises when a program that was
// compiled with an older header must be compiled again.
#define TW_API_VERSION 1

// Version of the interface of communicator providers.
#define TW_COMM_PROVIDER_VERSION 1

// Memory of one rank.
typedef struct TwBuffer TwBuffer;

// The ranks of a node, as far as this process drives them.
typedef struct TwComm TwComm;

// A kernel of a module.
typedef struct TwKernel TwKernel;

// The code of a bundle on the ranks of a communicator.
typedef struct TwModule TwModule;

// The same number of bytes on every rank, where every rank can reach them.
typedef struct TwWindow TwWindow;

// A rank of a communicator of mori that lives in this process.
typedef struct TwMoriRank {
  // The HIP device that the rank runs on.
  int32_t device;
  // The bytes of its `ccoDevComm`, in host memory.
  const void *dev_comm;
  // `sizeof(ccoDevComm)`.
  uint64_t dev_comm_bytes;
  // The `hipStream_t` of that device that kernels run on; null for one that is made for it.
  void *stream;
} TwMoriRank;

// A rank's view of a window.
typedef struct TwWindowPart {
  // mori's `ccoWindow_t`: what a kernel on this rank takes.
  uint64_t window;
  // Device address of the rank's own bytes.
  uint64_t address;
} TwWindowPart;

// One argument of a launch. Which kind it is follows from which pointer is set: a window, a buffer, or else a number. Set
// what is not used to zero.
typedef struct TwArg {
  // The parameter in the source.
  const char *name;
  // A window, for all ranks; or null.
  const struct TwWindow *window;
  // A buffer, for its own rank: one argument for each rank of this process; or null.
  const struct TwBuffer *buffer;
  // A number, in the low bits; bits above its type must be zero. A float is given as its IEEE bits, so an `f32` of 2 is
  // `0x40000000`. The value of a `where` parameter is given like this, too, by the parameter's name.
  uint64_t bits;
  // Zero for a number that all ranks get; else `lsa_rank` says whose number it is, and every rank needs one.
  uint32_t one_rank;
  // The rank of a number, if `one_rank` is not zero.
  uint32_t lsa_rank;
} TwArg;

// A rank of the communicator that lives in this process.
typedef struct TwLocalRank {
  // Its rank on this node.
  uint32_t lsa_rank;
  // The HIP device that it runs on.
  int32_t device;
} TwLocalRank;

// What a provider exports. `comm` is always what `open` gave; functions may be called from one thread at a time.
typedef struct TwCommProvider {
  // Version of the interface that the provider was written for; look at nothing else before it is known.
  uint32_t version;
  // Makes the communicator of a node of `ranks` ranks with at least `queues` SDMA queues to each peer. Null on failure.
  void *(*open)(uint32_t ranks, uint32_t queues);
  // How many ranks live in this process.
  uint32_t (*local_ranks)(void *comm);
  // Which rank the local rank number `index` is.
  uint32_t (*local_rank)(void *comm, uint32_t index, struct TwLocalRank *out);
  // Writes the `ccoDevComm` of local rank number `index`, all `bytes` bytes of it.
  uint32_t (*dev_comm)(void *comm, uint32_t index, void *out, uint64_t bytes);
  // Makes memory of `bytes` bytes on every rank and registers it as a window; writes one part for each local rank, in
  // their order. `name` is a C string for messages.
  uint32_t (*window_open)(void *comm, const char *name, uint64_t bytes, struct TwWindowPart *out);
  // Gives a window and its memory back; `window` is that of local rank number 0.
  uint32_t (*window_close)(void *comm, uint64_t window);
  // Returns when every rank of the communicator has called it.
  uint32_t (*barrier)(void *comm);
  // Gives everything back.
  uint32_t (*close)(void *comm);
  // The sentence of the last failure, a C string that lives until the next call.
  const char *(*error)(void);
} TwCommProvider;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// `TW_API_VERSION` of the library that the program found when it was started.
uint32_t tw_api_version(void);

// The sentence of this thread's last failure, or an empty string. It lives until the thread's next failure.
const char *tw_last_error(void);

// A communicator that mori's host library made: one entry for each rank of this process, ascending by lsaRank. The other ranks
// of the node live in other processes. mori's communicator must outlive this one; it may have run other kernels before, but
// none may run now, on any rank. Null on failure; always, if the library was built without HIP.
//
// `ranks` points to `count` entries, whose bytes are as many as they say.
struct TwComm *tw_comm_from_mori(const struct TwMoriRank *ranks,
                                 uint32_t count);

// A communicator of simulated GPUs of the chip `target` (`gfx950`), all ranks in this process, with `queues` SDMA queues from
// each to each peer. The seed decides schedules. Null on failure. Windows are made with `tw_window_make`; launches end in
// `tw_synchronise`.
//
// `target` is a C string.
struct TwComm *tw_comm_simulate(const char *target,
                                uint32_t ranks,
                                uint32_t queues,
                                uint64_t seed);

// Ranks of the node, whoever drives them; 0 if `comm` is null.
//
// `comm` is null or lives.
uint32_t tw_comm_lsa_size(const struct TwComm *comm);

// Waits until everything that was launched has ended on the ranks of this process.
//
// `comm` is null or lives.
uint32_t tw_synchronise(const struct TwComm *comm);

// Frees a communicator. What was made with it stays usable until it is freed itself.
//
// `comm` is null or lives.
void tw_comm_free(struct TwComm *comm);

// Loads a bundle (`tilewright compile FILE --emit bundle -o FILE.twb`) on all ranks of this process: of the targets that it
// holds the one that the devices are. The bytes may be freed afterwards. Null on failure.
//
// `comm` is null or lives; `bundle` points to `bytes` bytes.
struct TwModule *tw_module_load(const struct TwComm *comm,
                                const void *bundle,
                                uint64_t bytes);

// The kernel of that name. Null on failure.
//
// `module` is null or lives; `name` is a C string.
struct TwKernel *tw_kernel_find(const struct TwModule *module, const char *name);

// How many SDMA queues to each peer the kernels of a bundle need at most, for `target` (`gfx950`), or for any of its targets
// if `target` is null. No communicator is needed: ask before one is made (mori's `sdmaQueueCount`).
//
// `bundle` points to `bytes` bytes; `target` is null or a C string; `out` is null or takes the number.
uint32_t tw_bundle_min_queues(const void *bundle,
                              uint64_t bytes,
                              const char *target,
                              uint32_t *out);

// How many SDMA queues to each peer the kernel needs; 0 if `kernel` is null.
//
// `kernel` is null or lives.
uint32_t tw_kernel_min_queues(const struct TwKernel *kernel);

// Frees a kernel.
//
// `kernel` is null or lives.
void tw_kernel_free(struct TwKernel *kernel);

// Frees a module. Its kernels stay usable.
//
// `module` is null or lives.
void tw_module_free(struct TwModule *module);

// Memory of `bytes` bytes on a rank of this process. `name` is for messages. Null on failure.
//
// `comm` is null or lives; `name` is a C string.
struct TwBuffer *tw_buffer_make(const struct TwComm *comm,
                                uint32_t lsa_rank,
                                uint64_t bytes,
                                const char *name);

// Memory that the program allocated on a rank of this process, and frees after this object. Null on failure.
//
// `comm` is null or lives.
struct TwBuffer *tw_buffer_adopt(const struct TwComm *comm,
                                 uint32_t lsa_rank,
                                 uint64_t address,
                                 uint64_t bytes);

// Waits for all launches and copies host memory to a buffer, `offset` bytes from its start.
//
// `buffer` is null or lives; `data` points to `bytes` bytes.
uint32_t tw_buffer_write(const struct TwBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes);

// Waits for all launches and copies a buffer to host memory, from `offset` bytes from its start on.
//
// `buffer` is null or lives; `data` points to `bytes` bytes that nobody else uses.
uint32_t tw_buffer_read(const struct TwBuffer *buffer, uint64_t offset, void *data, uint64_t bytes);

// Frees a buffer, after the launches that use it.
//
// `buffer` is null or lives.
void tw_buffer_free(struct TwBuffer *buffer);

// A window that was registered with the communicator (mori's `ccoWindowRegister`), whom it stays with: one part for each
// rank of this process, in their order. Null on failure.
//
// `comm` is null or lives; `parts` points to `count` entries.
struct TwWindow *tw_window_adopt(const struct TwComm *comm,
                                 const struct TwWindowPart *parts,
                                 uint32_t count,
                                 uint64_t bytes);

// A window of `bytes` bytes a rank, on devices that make windows: the simulator. Null on failure.
//
// `comm` is null or lives; `name` is a C string.
struct TwWindow *tw_window_make(const struct TwComm *comm, uint64_t bytes, const char *name);

// Waits for all launches and copies host memory to a rank's part of a window.
//
// `window` is null or lives; `data` points to `bytes` bytes.
uint32_t tw_window_write(const struct TwWindow *window,
                         uint32_t lsa_rank,
                         uint64_t offset,
                         const void *data,
                         uint64_t bytes);

// Waits for all launches and copies a rank's part of a window to host memory.
//
// `window` is null or lives; `data` points to `bytes` bytes that nobody else uses.
uint32_t tw_window_read(const struct TwWindow *window,
                        uint32_t lsa_rank,
                        uint64_t offset,
                        void *data,
                        uint64_t bytes);

// Frees a window, after the launches that use it. One that was adopted stays registered.
//
// `window` is null or lives.
void tw_window_free(struct TwWindow *window);

// Enqueues a kernel on all ranks of this process and returns; `tw_synchronise` waits for it. A launch that is refused changes
// nothing. After one that failed on the device the communicator is of no more use.
//
// Each parameter of the source and each `where` parameter is given once, but neither those of type `devcomm` nor what the
// compiler added: the runtime fills them in. A second launch may be enqueued at once, and begins on each rank when the first has
// ended there; ranks do not wait for one another, so that a peer may write to a window that another rank still reads.
//
// `kernel` is null or lives; `args` points to `count` arguments, whose names are C strings and whose objects live.
uint32_t tw_launch(const struct TwKernel *kernel,
                   const struct TwArg *args,
                   uint32_t count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TILEWRIGHT_H */

// What a provider of communicators exports (see TwCommProvider). A variable names its library, as in
// `TILEWRIGHT_COMM=libprovider.so tilewright-run FILE.twb --device hip`: started once for each rank, if the provider has a rank
// in each process. `tilewright run --device hip` wants a provider with all ranks in one process. docs/mori.md says more.
#ifdef __cplusplus
extern "C"
#endif
const TwCommProvider *tw_comm_provider(void);
