// A provider of communicators made by mori, for `tilewright-run` on AMD GPUs: a shared library that exports tw_comm_provider.
//
// mori has a process for each rank. So start the runner once a rank, with its number and a file to meet at, which must not be
// there before:
//
//   export MORI_ENABLE_SDMA=1 TILEWRIGHT_COMM=./libtilewright_mori.so TILEWRIGHT_MEET=./meet.$$
//   for r in 0 1 2 3; do TILEWRIGHT_RANK=$r tilewright-run ring_shift.twb --device hip & done; wait
//
// Each process compares what its own rank was left with.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include "layout.hpp"
#include "mori/cco/cco.hpp"
#include "tilewright.h"

using namespace mori::cco;

namespace {

// Most bytes of all windows of a rank; a multiple of 4 GiB as mori wants it.
constexpr size_t kVmmBytes = size_t{16} << 30;
// How long to wait for rank 0's file, in units of 10 ms.
constexpr int kPatience = 6000;

struct Window {
  ccoWindow_t window;
  void *memory;
};

struct Communicator {
  ccoComm *comm = nullptr;
  ccoDevComm dev{};
  bool has_dev = false;
  int device = 0;
  std::vector<Window> windows;
};

std::string sentence;

uint32_t fail(const std::string &why) {
  sentence = why;
  return 1;
}

// The status of a call of mori's.
uint32_t check(const char *call, int status) {
  return status == 0 ? 0 : fail(std::string(call) + " returned " + std::to_string(status));
}

// Rank 0 writes the id, under another name first so that nobody reads half of it; the others wait for it.
bool meet(const char *path, int rank, ccoUniqueId &id) {
  if (rank == 0) {
    if (check("ccoGetUniqueId", ccoGetUniqueId(&id)) != 0) return false;
    const std::string part = std::string(path) + ".part";
    std::ofstream file(part, std::ios::binary);
    file.write(reinterpret_cast<const char *>(&id), sizeof id);
    file.close();
    if (!file || std::rename(part.c_str(), path) != 0) {
      fail(std::string("cannot write ") + path);
      return false;
    }
    return true;
  }
  for (int patience = 0; patience < kPatience; patience++) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(reinterpret_cast<char *>(&id), sizeof id)) return true;
    usleep(10000);
  }
  fail(std::string("rank 0 has not written ") + path);
  return false;
}

uint32_t close_comm(void *handle) {
  Communicator *mine = static_cast<Communicator *>(handle);
  for (const Window &one : mine->windows) {
    ccoWindowDeregister(mine->comm, one.window);
    ccoMemFree(mine->comm, one.memory);
  }
  if (mine->has_dev) ccoDevCommDestroy(mine->comm, &mine->dev);
  const uint32_t status = mine->comm == nullptr ? 0 : check("ccoCommDestroy", ccoCommDestroy(mine->comm));
  delete mine;
  return status;
}

// mori binds a communicator to the device that is current when it is made, and wants it current in every call.
bool make(Communicator &mine, uint32_t ranks, uint32_t queues) {
  const char *number = std::getenv("TILEWRIGHT_RANK"), *path = std::getenv("TILEWRIGHT_MEET");
  if (number == nullptr || path == nullptr) {
    fail("TILEWRIGHT_RANK and TILEWRIGHT_MEET must say which rank this process is and where all meet");
    return false;
  }
  const int rank = std::atoi(number);
  if (rank < 0 || static_cast<uint32_t>(rank) >= ranks) {
    fail("TILEWRIGHT_RANK is " + std::to_string(rank) + " of " + std::to_string(ranks) + " ranks");
    return false;
  }
  int devices = 0;
  if (hipGetDeviceCount(&devices) != hipSuccess || devices == 0) {
    fail("HIP finds no device");
    return false;
  }
  mine.device = rank % devices;
  if (hipSetDevice(mine.device) != hipSuccess) {
    fail("HIP does not take device " + std::to_string(mine.device));
    return false;
  }
  ccoUniqueId id{};
  if (!meet(path, rank, id)) return false;
  if (check("ccoCommCreate", ccoCommCreate(id, static_cast<int>(ranks), rank, kVmmBytes, &mine.comm)) != 0) return false;
  ccoDevCommRequirements reqs = CCO_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.gdaConnectionType = CCO_GDA_CONNECTION_NONE;
  reqs.gdaContextCount = reqs.gdaSignalCount = reqs.gdaCounterCount = 0;
  reqs.sdmaQueueCount = queues == 0 ? 2 : static_cast<int>(queues);
  if (check("ccoDevCommCreate", ccoDevCommCreate(mine.comm, &reqs, &mine.dev)) != 0) return false;
  mine.has_dev = true;
  // All have the id now, and the next communicator is to have a file of its own.
  if (check("ccoBarrierAll", ccoBarrierAll(mine.comm)) != 0) return false;
  if (rank == 0) std::remove(path);
  return check("ccoBarrierAll", ccoBarrierAll(mine.comm)) == 0;
}

void *open_comm(uint32_t ranks, uint32_t queues) {
  Communicator *mine = new Communicator;
  if (make(*mine, ranks, queues)) return mine;
  const std::string why = sentence;
  close_comm(mine);
  sentence = why;
  return nullptr;
}

uint32_t local_ranks(void *) { return 1; }

uint32_t local_rank(void *handle, uint32_t index, TwLocalRank *out) {
  const Communicator *mine = static_cast<Communicator *>(handle);
  if (index != 0) return fail("a process has one rank");
  out->lsa_rank = static_cast<uint32_t>(mine->dev.lsaRank);
  out->device = mine->device;
  return 0;
}

uint32_t dev_comm(void *handle, uint32_t index, void *out, uint64_t bytes) {
  const Communicator *mine = static_cast<Communicator *>(handle);
  if (index != 0 || bytes != sizeof mine->dev) return fail("a ccoDevComm has " + std::to_string(sizeof mine->dev) + " bytes");
  std::memcpy(out, &mine->dev, sizeof mine->dev);
  return 0;
}

uint32_t window_open(void *handle, const char *, uint64_t bytes, TwWindowPart *out) {
  Communicator *mine = static_cast<Communicator *>(handle);
  Window made{};
  if (check("ccoMemAlloc", ccoMemAlloc(mine->comm, bytes, &made.memory)) != 0) return 1;
  if (check("ccoWindowRegister", ccoWindowRegister(mine->comm, made.memory, bytes, &made.window)) != 0) {
    ccoMemFree(mine->comm, made.memory);
    return 1;
  }
  mine->windows.push_back(made);
  out->window = reinterpret_cast<uint64_t>(made.window);
  out->address = reinterpret_cast<uint64_t>(made.memory);
  return 0;
}

uint32_t window_close(void *handle, uint64_t window) {
  Communicator *mine = static_cast<Communicator *>(handle);
  for (size_t i = 0; i < mine->windows.size(); i++) {
    const Window found = mine->windows[i];
    if (reinterpret_cast<uint64_t>(found.window) != window) continue;
    mine->windows.erase(mine->windows.begin() + static_cast<std::ptrdiff_t>(i));
    if (check("ccoWindowDeregister", ccoWindowDeregister(mine->comm, found.window)) != 0) return 1;
    return check("ccoMemFree", ccoMemFree(mine->comm, found.memory));
  }
  return fail("there is no such window");
}

uint32_t barrier(void *handle) { return check("ccoBarrierAll", ccoBarrierAll(static_cast<Communicator *>(handle)->comm)); }

const char *error() { return sentence.c_str(); }

const TwCommProvider kProvider = {
    TW_COMM_PROVIDER_VERSION, open_comm,    local_ranks, local_rank, dev_comm,
    window_open,              window_close, barrier,     close_comm, error,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TwCommProvider *tw_comm_provider(void) { return &kProvider; }
