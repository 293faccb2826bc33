// Room: arrays
#pragma once

#include <lapwing/chapel/expression.hpp>
#include <lapwing/chapel/forall.hpp>
#include <lapwing/chapel/locales.hpp>
#include <lapwing/chapel/loop.hpp>
#include <lapwing/chapel/reduce.hpp>
#include <lapwing/chapel/tasks.hpp>

/// Chapel's loops, reduce intents, expressions of whole arrays and tasks, to port kernels line by line: docs/chapel.md.
/// What Lapwing has under another name (distributions, slices, reductions of arrays, halos) is not here; the page has
/// a table of both.
///
/// ```cpp
/// auto total = chapel::reduce<double>(chapel::plus);
/// chapel::forall(chapel::zip(a, b), chapel::with(total), [&](double& x, double y, double& sum) {
///     x += alpha * y; // forall (x, y) in zip(A, B) with (+ reduce total) { x += alpha * y; total += x; }
///     sum += x;
/// });
/// chapel::whole(a) = chapel::whole(b) + alpha * chapel::whole(c); // A = B + alpha * C;
/// ```
namespace lapwing::chapel {}
