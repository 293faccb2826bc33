// Room: upc
#pragma once

#include <lapwing/upc.h>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/atomic.hpp>
#include <lapwing/upc/collective.hpp>
#include <lapwing/upc/forall.hpp>
#include <lapwing/upc/mapped.hpp>
#include <lapwing/upc/memory.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/prefetched.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/recording.hpp>
#include <lapwing/upc/reference.hpp>
#include <lapwing/upc/synchronisation.hpp>
#include <lapwing/upc/view.hpp>
#include <lapwing/upc/walk.hpp>

/// UPC's shared memory for C++, to port kernels by hand: types for what UPC writes as `shared [B] T`, built on
/// lapwing/upc.h, whose functions may also be called. docs/upc.md has a table from UPC to this interface.
///
/// ```cpp
/// upc::Program program;                               // main's first line: THREADS and MYTHREAD from here on
/// upc::SharedArray<double, 4> a{n};                   // shared [4] double a[n];
/// upc::forall(0, n, a, [&](auto i) { a[i] = f(i); }); // upc_forall (i = 0; i < n; i++; &a[i]) a[i] = f(i);
/// upc::barrier();
/// double x = a[n - 1];                                // whichever thread has it
/// ```
namespace lapwing::upc {}
