// How programs end: exit() anywhere, the end called again, upc_global_exit. A program of its own, since each of these
// ends it; the first argument says which.
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace upc = lapwing::upc;

namespace {

/// What each thread has put is read by thread 0, when the others have called exit().
[[noreturn]] void exit_in_a_function() {
    const upc::SharedArray<int> a{static_cast<std::size_t>(upc::threads())};
    a[(upc::mythread() + 1) % upc::threads()] = 3; // complete after the barrier of exit at the latest
    upc::barrier();
    if (upc::mythread() != 0) std::exit(0);
    int sum = 0;
    for (int round = 0; round < 100; ++round)
        for (int i = 0; i < upc::threads(); ++i) sum += a[i];
    std::exit(sum == 300 * upc::threads() ? 0 : 1);
}

} // namespace

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    const auto is = [&](const char* word) { return std::strcmp(what, word) == 0; };
    if (is("exit-of-a-scope")) {
        upc::Program program{argc, argv};
        exit_in_a_function();
    }
    if (is("exit-over-a-runtime")) {
        static lapwing::Runtime runtime;
        upc::Program program{runtime};
        exit_in_a_function();
    }
    if (is("exit-of-a-static-program")) {
        static upc::Program program{argc, argv};
        exit_in_a_function();
    }
    lapwing_upc_start(&argc, &argv);
    if (is("exit")) exit_in_a_function();
    if (is("exit-with-the-end-registered")) {
        std::atexit(lapwing_upc_end);
        exit_in_a_function();
    }
    if (is("end-twice")) {
        std::atexit(lapwing_upc_end);
        lapwing_upc_end();
        lapwing_upc_end();
        return 0;
    }
    if (is("global-exit") || is("global-exit-of-one")) {
        // Into a pipe: what is printed waits in the process.
        std::printf("last words\n");
        lapwing_upc_barrier(nullptr);
        if (is("global-exit") || upc::mythread() == upc::threads() - 1) lapwing_upc_global_exit(0);
        for (volatile bool computes = true; computes;) {
        }
    }
    return 2;
}
