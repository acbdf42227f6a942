// Kernels read mori's structures at the offsets of mori's commit 624002c (August 2026). A mori that lays them out in another way
// must not get past the compiler.
//
// The structures behind pointers need not be defined where a host program includes mori's header; where they are not, there is
// nothing to compare.
#pragma once

#include <cstddef>
#include <type_traits>

#include "mori/cco/cco.hpp"

namespace layout {

using namespace mori::cco;

static_assert(sizeof(ccoDevComm) == 200 && offsetof(ccoDevComm, sdma) == 168, "another layout of ccoDevComm");
static_assert(sizeof(ccoSdmaContext) == 32 && offsetof(ccoSdmaContext, deviceHandles) == 8 &&
                  offsetof(ccoSdmaContext, signalBuf) == 16 && offsetof(ccoSdmaContext, peerSignalPtrs) == 24,
              "another layout of ccoSdmaContext");

// What a window points to.
template <typename T, typename = void>
struct WindowFits : std::true_type {};
template <typename T>
struct WindowFits<T, std::enable_if_t<(sizeof(T) > 0)>>
    : std::bool_constant<sizeof(T) == 32 && offsetof(T, winBase) == 0 && offsetof(T, stride4G) == 8 &&
                         offsetof(T, lsaRank) == 12> {};
static_assert(WindowFits<std::remove_pointer_t<ccoWindow_t>>::value, "another layout of ccoWindowDevice");

// What the table of queues points to.
template <typename T, typename = void>
struct QueueFits : std::true_type {};
template <typename T>
struct QueueFits<T, std::enable_if_t<(sizeof(T) > 0)>>
    : std::bool_constant<sizeof(T) == 56 && offsetof(T, queueBuf) == 0 && offsetof(T, rptr) == 8 && offsetof(T, wptr) == 16 &&
                         offsetof(T, doorbell) == 24 && offsetof(T, cachedWptr) == 32 && offsetof(T, committedWptr) == 40 &&
                         offsetof(T, cachedHwReadIndex) == 48> {};
static_assert(QueueFits<std::remove_pointer_t<std::remove_pointer_t<decltype(ccoSdmaContext::deviceHandles)>>>::value,
              "another layout of ccoSdmaQueueDeviceHandle");

}  // namespace layout
