// A host program in C++ that runs one of Tilewright's kernels under a communicator that mori's host library made.
//
// It makes the communicator, two windows and the ccoDevComm with mori, hands them to Tilewright's runtime, launches
// ring_shift twice (the second launch goes on from the signals of the first) and checks what arrived.
//
//   tilewright compile examples/ring_shift.tile --target gfx950 --emit bundle -o ring_shift.twb
//   MORI_ENABLE_SDMA=1 mori-host ring_shift.twb 4
//
// Each rank is a process with a GPU of its own, as mori has it. With `threads` as the third argument ranks are threads of
// one process: so it runs over Tilewright's fake HIP library, whose devices are simulated.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include "layout.hpp"
#include "mori/cco/cco.hpp"
#include "tilewright.h"

using namespace mori::cco;

// The tile of ring_shift: f16[8, 16].
constexpr size_t kElements = 8 * 16;
constexpr size_t kBytes = kElements * sizeof(uint16_t);
// Flat address space of a rank: room for the windows, and a multiple of 4 GiB as mori wants it.
constexpr size_t kVmmBytes = size_t{4} << 30;

// What ranks share before there is a communicator.
struct Rendezvous {
  std::atomic<int> ready{0};
  ccoUniqueId id{};
};

// One rank's failure ends its process; with threads, the program.
[[noreturn]] static void fail(int rank, const char *what, const std::string &why) {
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, why.c_str());
  std::_Exit(1);
}

static void cco(int rank, const char *what, int status) {
  if (status != 0) fail(rank, what, "mori says " + std::to_string(status));
}

static void hip(int rank, const char *what, hipError_t code) {
  if (code != hipSuccess) fail(rank, what, hipGetErrorString(code));
}

static void tw(int rank, const char *what, uint32_t status) {
  if (status != 0) fail(rank, what, tw_last_error());
}

template <typename T>
static T *made(int rank, const char *what, T *object) {
  if (object == nullptr) fail(rank, what, tw_last_error());
  return object;
}

// The value of one element of a rank's tile in a round; any bits do, the kernel only moves them.
static uint16_t element(int rank, int round, size_t index) {
  return static_cast<uint16_t>(rank * 4096 + round * 1024 + static_cast<int>(index));
}

static std::vector<uint16_t> tile(int rank, int round) {
  std::vector<uint16_t> values(kElements);
  for (size_t i = 0; i < kElements; i++) values[i] = element(rank, round, i);
  return values;
}

// Everything of one rank.
static void run_rank(int rank, int ranks, Rendezvous &meet, const std::vector<char> &bundle) {
  hip(rank, "hipSetDevice", hipSetDevice(rank));
  if (rank == 0) {
    cco(rank, "ccoGetUniqueId", ccoGetUniqueId(&meet.id));
    meet.ready.store(1, std::memory_order_release);
  }
  while (meet.ready.load(std::memory_order_acquire) == 0) usleep(1000);

  ccoComm *comm = nullptr;
  cco(rank, "ccoCommCreate", ccoCommCreate(meet.id, ranks, rank, kVmmBytes, &comm));
  void *send = nullptr, *recv = nullptr;
  cco(rank, "ccoMemAlloc", ccoMemAlloc(comm, kBytes, &send));
  cco(rank, "ccoMemAlloc", ccoMemAlloc(comm, kBytes, &recv));
  ccoWindow_t send_window = nullptr, recv_window = nullptr;
  cco(rank, "ccoWindowRegister", ccoWindowRegister(comm, send, kBytes, &send_window));
  cco(rank, "ccoWindowRegister", ccoWindowRegister(comm, recv, kBytes, &recv_window));

  ccoDevCommRequirements reqs = CCO_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.gdaConnectionType = CCO_GDA_CONNECTION_NONE;  // SDMA needs no RDMA
  reqs.gdaContextCount = reqs.gdaSignalCount = reqs.gdaCounterCount = 0;
  uint32_t queues = 0;  // the kernel is not loaded yet: that takes the communicator
  tw(rank, "tw_bundle_min_queues", tw_bundle_min_queues(bundle.data(), bundle.size(), nullptr, &queues));
  reqs.sdmaQueueCount = static_cast<int>(queues);
  ccoDevComm dev{};
  cco(rank, "ccoDevCommCreate", ccoDevCommCreate(comm, &reqs, &dev));
  if (dev.sdma.sdmaNumQueue == 0) fail(rank, "ccoDevCommCreate", "there is no SDMA: is MORI_ENABLE_SDMA=1 set?");

  hipStream_t stream = nullptr;
  hip(rank, "hipStreamCreate", hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  void *out = nullptr;
  hip(rank, "hipMalloc", hipMalloc(&out, kBytes));

  TwMoriRank mine{};
  mine.device = rank;
  mine.dev_comm = &dev;
  mine.dev_comm_bytes = sizeof dev;
  mine.stream = stream;
  TwComm *runtime = made(rank, "tw_comm_from_mori", tw_comm_from_mori(&mine, 1));
  TwModule *module = made(rank, "tw_module_load", tw_module_load(runtime, bundle.data(), bundle.size()));
  TwKernel *kernel = made(rank, "tw_kernel_find", tw_kernel_find(module, "ring_shift"));
  auto adopt = [&](ccoWindow_t window, void *address) {
    TwWindowPart part{reinterpret_cast<uint64_t>(window), reinterpret_cast<uint64_t>(address)};
    return made(rank, "tw_window_adopt", tw_window_adopt(runtime, &part, 1, kBytes));
  };
  TwWindow *send_arg = adopt(send_window, send);
  TwWindow *recv_arg = adopt(recv_window, recv);
  TwBuffer *out_arg = made(rank, "tw_buffer_adopt",
                           tw_buffer_adopt(runtime, static_cast<uint32_t>(dev.lsaRank), reinterpret_cast<uint64_t>(out), kBytes));
  TwArg args[3] = {};
  args[0].name = "send", args[0].window = send_arg;
  args[1].name = "recv", args[1].window = recv_arg;
  args[2].name = "out", args[2].buffer = out_arg;

  for (int round = 0; round < 2; round++) {
    std::vector<uint16_t> mine_now = tile(rank, round);
    hip(rank, "hipMemcpy", hipMemcpy(send, mine_now.data(), kBytes, hipMemcpyHostToDevice));
    hip(rank, "hipMemcpy", hipMemcpy(recv, std::vector<char>(kBytes).data(), kBytes, hipMemcpyHostToDevice));
    // No rank may write to a window that its owner has not filled yet,
    cco(rank, "ccoBarrierAll", ccoBarrierAll(comm));
    tw(rank, "tw_launch", tw_launch(kernel, args, 3));
    // and none may wait on the host before all kernels that wait for one another are launched.
    cco(rank, "ccoBarrierAll", ccoBarrierAll(comm));
    tw(rank, "tw_synchronise", tw_synchronise(runtime));
    cco(rank, "ccoBarrierAll", ccoBarrierAll(comm));

    std::vector<uint16_t> found(kElements);
    hip(rank, "hipMemcpy", hipMemcpy(found.data(), out, kBytes, hipMemcpyDeviceToHost));
    const std::vector<uint16_t> expected = tile((rank + ranks - 1) % ranks, round);
    for (size_t i = 0; i < kElements; i++) {
      if (found[i] != expected[i]) {
        fail(rank, "check", "element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
                                std::to_string(expected[i]));
      }
    }
  }
  std::printf("rank %d: two rounds, %zu bytes each, as expected\n", rank, kBytes);
  std::fflush(stdout);

  tw_buffer_free(out_arg);
  tw_window_free(recv_arg);
  tw_window_free(send_arg);
  tw_kernel_free(kernel);
  tw_module_free(module);
  tw_comm_free(runtime);
  hip(rank, "hipFree", hipFree(out));
  hip(rank, "hipStreamDestroy", hipStreamDestroy(stream));
  cco(rank, "ccoBarrierAll", ccoBarrierAll(comm));
  cco(rank, "ccoDevCommDestroy", ccoDevCommDestroy(comm, &dev));
  cco(rank, "ccoWindowDeregister", ccoWindowDeregister(comm, recv_window));
  cco(rank, "ccoWindowDeregister", ccoWindowDeregister(comm, send_window));
  cco(rank, "ccoMemFree", ccoMemFree(comm, recv));
  cco(rank, "ccoMemFree", ccoMemFree(comm, send));
  cco(rank, "ccoCommDestroy", ccoCommDestroy(comm));
}

int main(int argc, char **argv) {
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool threads = argc > 3 && std::strcmp(argv[3], "threads") == 0;
  if (argc < 3 || argc > 4 || ranks < 1 || ranks > 64 || (argc == 4 && !threads)) {
    std::fprintf(stderr, "usage: %s RING_SHIFT.twb RANKS [threads]\n", argv[0]);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", argv[1]);
    return 1;
  }
  const std::vector<char> bundle{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};

  void *shared = mmap(nullptr, sizeof(Rendezvous), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  Rendezvous &meet = *new (shared) Rendezvous;
  int failed = 0;
  if (threads) {
    std::vector<std::thread> all;
    for (int rank = 0; rank < ranks; rank++) {
      all.emplace_back([&, rank] { run_rank(rank, ranks, meet, bundle); });
    }
    for (std::thread &one : all) one.join();
    return 0;
  }
  // HIP must not have been called before: a child cannot use its parent's device.
  for (int rank = 0; rank < ranks; rank++) {
    const pid_t child = fork();
    if (child == 0) {
      run_rank(rank, ranks, meet, bundle);
      std::_Exit(0);
    }
    if (child < 0) {
      std::perror("fork");
      return 1;
    }
  }
  for (int rank = 0; rank < ranks; rank++) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) failed = 1;
  }
  return failed;
}
