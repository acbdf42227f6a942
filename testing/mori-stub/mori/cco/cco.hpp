// Stands for mori's header where mori is not: the part of its host interface that examples/mori-host uses, over the provider
// of communicators in Tilewright's fake HIP library. Names and signatures are mori's, the rest is ours.
//
// Ranks are threads of one process. What must hold: calls that mori has all ranks make together, all ranks make together; the
// ccoDevComm has mori's layout, of which only the fields that a host looks at have names.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "tilewright.h"

namespace mori {
namespace cco {

struct ccoUniqueId {
  char internal[128];
};

struct ccoWindowDevice {
  void *winBase;
  uint32_t stride4G;
  int lsaRank;
  char ibgdaWin[16];
};
typedef ccoWindowDevice *ccoWindow_t;

enum ccoGdaConnectionType { CCO_GDA_CONNECTION_NONE = 0 };

struct ccoDevCommRequirements {
  ccoGdaConnectionType gdaConnectionType;
  int gdaContextCount, gdaSignalCount, gdaCounterCount, sdmaQueueCount;
};
#define CCO_DEV_COMM_REQUIREMENTS_INITIALIZER \
  { mori::cco::CCO_GDA_CONNECTION_NONE, 0, 0, 0, 0 }

struct ccoSdmaQueueDeviceHandle {
  void *queueBuf;
  uint64_t *rptr, *wptr, *doorbell, *cachedWptr, *committedWptr;
  uint64_t cachedHwReadIndex;
};

struct ccoSdmaContext {
  uint32_t sdmaNumQueue;
  ccoSdmaQueueDeviceHandle **deviceHandles;
  uint64_t *signalBuf;
  uint64_t **peerSignalPtrs;
};

struct ccoDevComm {
  int rank, worldSize, lsaSize, lsaRank, myNodeStart, gdaConnType;
  void *flatBase;
  size_t perRankSize;
  char inter_node[128];
  ccoSdmaContext sdma;
};

namespace stub {

// The table of the library underneath: AMD's own, with which programs are linked, has none.
inline const TwCommProvider *provider() {
  void *found = dlsym(RTLD_DEFAULT, "tw_comm_provider");
  if (found == nullptr) {
    std::fprintf(stderr, "this program needs the fake HIP library: see .ci/hip\n");
    std::_Exit(1);
  }
  return reinterpret_cast<decltype(&tw_comm_provider)>(found)();
}

// All ranks of the one communicator that there can be.
struct Group {
  std::mutex lock;
  std::condition_variable changed;
  int ranks = 0, arrived = 0;
  uint64_t generation = 0;
  void *comm = nullptr;
  std::vector<TwWindowPart> parts;

  // Returns when all ranks are here; the last one does `work` before the others go on.
  template <typename Work>
  void together(Work work) {
    std::unique_lock<std::mutex> held(lock);
    const uint64_t mine = generation;
    if (++arrived == ranks) {
      work();
      arrived = 0;
      generation++;
      changed.notify_all();
      return;
    }
    changed.wait(held, [&] { return generation != mine; });
  }
};

inline Group &group() {
  static Group one;
  return one;
}

// The process that the program began as: ranks in its children would wait for one another for ever.
inline const pid_t kProgram = getpid();

}  // namespace stub

struct ccoComm {
  int rank = 0;
  std::map<void *, ccoWindow_t> windows;
};

inline int ccoGetUniqueId(ccoUniqueId *id) {
  *id = ccoUniqueId{};
  return 0;
}

inline int ccoCommCreate(const ccoUniqueId &, int ranks, int rank, size_t, ccoComm **out) {
  if (ranks > 1 && getpid() != stub::kProgram) {
    std::fprintf(stderr, "the stub of mori has its ranks in one process, as threads, not in a process each: see .ci/hip\n");
    return 1;
  }
  stub::Group &group = stub::group();
  {
    std::lock_guard<std::mutex> held(group.lock);
    group.ranks = ranks;
  }
  // Queues are a matter of the device communicator in mori; here they are made at once, as many as a node has by default.
  group.together([&] { group.comm = stub::provider()->open(static_cast<uint32_t>(ranks), 0); });
  if (group.comm == nullptr) return 1;
  *out = new ccoComm;
  (*out)->rank = rank;
  return 0;
}

inline int ccoMemAlloc(ccoComm *comm, size_t bytes, void **out) {
  stub::Group &group = stub::group();
  int status = 0;
  group.together([&] {
    group.parts.assign(static_cast<size_t>(group.ranks), TwWindowPart{});
    if (stub::provider()->window_open(group.comm, "window", bytes, group.parts.data()) != 0) group.parts.clear();
  });
  if (group.parts.empty()) {
    status = 1;
  } else {
    const TwWindowPart part = group.parts[static_cast<size_t>(comm->rank)];
    *out = reinterpret_cast<void *>(part.address);
    comm->windows[*out] = reinterpret_cast<ccoWindow_t>(part.window);
  }
  // Nobody may reuse the list before all have read it.
  group.together([] {});
  return status;
}

inline int ccoWindowRegister(ccoComm *comm, void *memory, size_t, ccoWindow_t *out) {
  const auto found = comm->windows.find(memory);
  if (found == comm->windows.end()) return 1;
  *out = found->second;
  return 0;
}

inline int ccoDevCommCreate(ccoComm *comm, const ccoDevCommRequirements *, ccoDevComm *out) {
  return static_cast<int>(
      stub::provider()->dev_comm(stub::group().comm, static_cast<uint32_t>(comm->rank), out, sizeof *out));
}

inline int ccoBarrierAll(ccoComm *) {
  stub::group().together([] {});
  return 0;
}

inline int ccoDevCommDestroy(ccoComm *, ccoDevComm *) { return 0; }
inline int ccoWindowDeregister(ccoComm *, ccoWindow_t) { return 0; }
inline int ccoMemFree(ccoComm *, void *) { return 0; }

inline int ccoCommDestroy(ccoComm *comm) {
  stub::Group &group = stub::group();
  uint32_t status = 0;
  group.together([&] { status = stub::provider()->close(group.comm); });
  delete comm;
  return static_cast<int>(status);
}

}  // namespace cco
}  // namespace mori
