// lapwing-demo: runs the kernels of this directory on real inputs, with naive element access, with the same to cached
// arrays and to arrays whose elements are prefetched, and with bulk patches, checks each against a serial computation,
// and says how long each took. scripts/demo builds it, starts it on every path and makes the table.
#include "heat.hpp"
#include "image.hpp"
#include "machine.hpp"
#include "median.hpp"
#include "patch_buffer.hpp"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "sparse_matrix.hpp"
#include "tools/command_line.hpp"
#include "transpose.hpp"

#include <lapwing/lapwing.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace lapwing;
using namespace lapwing::detail::kernels;
using bench::machine;
using bench::median;
using bench::mpi_name;
using Json = nlohmann::ordered_json;

struct Options {
    std::string data = "data";
    std::string pictures = {};
    std::string json = {};
    std::string network = "shm";
    double seconds = 0.2;
    int repetitions = 5;
    std::int64_t cube = 64;
};

/// One way to compute a kernel, on arrays of its own.
struct Technique {
    std::string name;
    std::function<void()> reset; ///< sets the arrays to the start; collective
    std::function<void(std::int64_t)> run;
    std::function<bool()> correct; ///< compares the arrays with the expected result; on rank 0 only
};

/// One kernel, set up on its input.
struct Kernel {
    std::string name;
    std::string input;
    std::string iteration;                    ///< what one iteration is called
    std::int64_t checked_iterations;          ///< how many are compared with the serial computation
    std::function<void(std::int64_t)> serial; ///< computes the expected result; on rank 0 only
    std::vector<Technique> techniques;        ///< the others are compared with the first
};

class Demo {
public:
    Demo(Runtime& runtime, const Options& options) : runtime_{runtime}, options_{options} {}

    /// Collective.
    void run(const Kernel& kernel) {
        // The other ranks wait meanwhile, which is as quiet as an oversubscribed machine gets.
        double serial = 0;
        if (is_root()) serial = seconds_of([&] { kernel.serial(kernel.checked_iterations); });
        runtime_.barrier();

        std::vector<Measured> all;
        for (const Technique& technique : kernel.techniques) all.push_back(check(kernel, technique));
        // In turns, so that a machine that becomes slower does not favour one of them.
        for (int repetition = 0; repetition < options_.repetitions; ++repetition)
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i].ms.push_back(measure(kernel.techniques[i], all[i].iterations));
        for (std::size_t i = 1; i < all.size(); ++i) {
            std::vector<double> ratios;
            for (std::size_t n = 0; n < all[i].ms.size(); ++n) ratios.push_back(all[0].ms[n] / all[i].ms[n]);
            rows_.push_back({{"bench", "kernels"},
                             {"case", fmt::format("{}, {}: {}", kernel.name, kernel.input, kernel.techniques[i].name)},
                             {"mpi", mpi_name()},
                             {"network", options_.network},
                             {"path", path()},
                             {"ranks", runtime_.size()},
                             {"metric", "time of an iteration"},
                             {"unit", "ms"},
                             {"kernel", kernel.name},
                             {"input", kernel.input},
                             {"iteration", kernel.iteration},
                             {"checked_iterations", kernel.checked_iterations},
                             {"serial_value", 1e3 * serial / static_cast<double>(kernel.checked_iterations)},
                             {"technique", kernel.techniques[i].name},
                             {"value", median(all[i].ms)},
                             {"min", std::ranges::min(all[i].ms)},
                             {"max", std::ranges::max(all[i].ms)},
                             {"iterations", all[i].iterations},
                             {"verified", all[i].verified},
                             {"baseline", kernel.techniques[0].name},
                             {"baseline_value", median(all[0].ms)},
                             {"baseline_iterations", all[0].iterations},
                             {"baseline_verified", all[0].verified},
                             {"ratio", median(ratios)},
                             {"repetitions", options_.repetitions}});
        }
    }

    /// Whether there is something to cache, and to prefetch: not if all ranks are of one node.
    [[nodiscard]] bool has_remote_elements() const { return runtime_.nodes() > 1; }
    /// Whether every result was right; the same on all ranks.
    [[nodiscard]] bool all_correct() const { return all_correct_; }
    [[nodiscard]] bool is_root() const { return runtime_.rank() == Rank{0}; }
    [[nodiscard]] const Json& rows() const { return rows_; }

    /// One line for a fact that is no timing. On rank 0 only.
    void say(std::string_view text) const {
        if (!is_root()) return;
        fmt::print("{}\n", text);
        std::fflush(stdout);
    }

private:
    struct Measured {
        bool verified = false;
        std::int64_t iterations = 1; ///< of a measurement
        std::vector<double> ms;      ///< of an iteration
    };

    /// Compares with the serial result, and finds out how many iterations a measurement should have.
    Measured check(const Kernel& kernel, const Technique& technique) {
        technique.reset();
        const double seconds = timed(technique, kernel.checked_iterations);
        std::int64_t verdict = is_root() && !technique.correct() ? 1 : 0;
        runtime_.max(std::span{&verdict, 1}); // and the others wait until rank 0 has read the result
        all_correct_ = all_correct_ && verdict == 0;
        say(fmt::format("  {}, {}, path {}: {} {}{}, {}", kernel.name, technique.name, path(),
                        kernel.checked_iterations, kernel.iteration, kernel.checked_iterations == 1 ? "" : "s",
                        verdict == 0 ? "same as the serial result to the bit" : "DIFFERENT from the serial result"));
        const double one = seconds / static_cast<double>(kernel.checked_iterations);
        auto iterations = static_cast<std::int64_t>(std::clamp(options_.seconds / one, 1.0, 1e6));
        runtime_.max(std::span{&iterations, 1}); // one number for all ranks
        return {.verified = verdict == 0, .iterations = iterations, .ms = {}};
    }

    double measure(const Technique& technique, std::int64_t iterations) {
        technique.reset();
        return 1e3 * timed(technique, iterations) / static_cast<double>(iterations);
    }

    double timed(const Technique& technique, std::int64_t iterations) {
        runtime_.barrier();
        return seconds_of([&] {
            technique.run(iterations);
            runtime_.barrier();
        });
    }

    template <class Body>
    static double seconds_of(Body&& body) {
        const auto start = std::chrono::steady_clock::now();
        body();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    /// The path to ranks that are not on this node.
    [[nodiscard]] std::string_view path() const {
        return runtime_.nodes() == 1 ? name(Path::direct) : name(runtime_.network_path());
    }

    Runtime& runtime_;
    const Options& options_;
    Json rows_ = Json::array();
    bool all_correct_ = true;
};

/// The arrays of a kernel.
template <class Array>
struct Arrays {
    Array from;
    Array to;
};

/// How a kernel is computed on arrays, whether they are cached, or prefetched, or neither.
template <class Array>
struct Computation {
    std::function<Arrays<Array>(const CacheOptions&)> make;
    std::function<void(Arrays<Array>&)> prefetch; ///< what naive access will read of others
    std::function<void(Arrays<Array>&)> reset;
    std::function<void(Arrays<Array>&, std::int64_t)> naive;
    std::function<void(Arrays<Array>&, std::int64_t)> bulk;
    std::function<void(Arrays<Array>&, std::int64_t)> mapped;
    std::function<bool(const Arrays<Array>&)> correct;
};

/// Collective. Runs a kernel with naive access to plain arrays and, where it makes a difference, to cached and to
/// prefetched ones, with bulk patches, and with mapped arrays. Returns the plain arrays.
template <class Array>
Arrays<Array> run_all(Demo& demo, Kernel kernel, const Computation<Array>& computation) {
    Arrays<Array> plain = computation.make({.mode = CacheMode::off});
    std::optional<Arrays<Array>> cached;
    std::optional<Arrays<Array>> prefetched;
    if (demo.has_remote_elements()) {
        cached = computation.make({.mode = CacheMode::epoch});
        prefetched = computation.make({.mode = CacheMode::off});
        computation.prefetch(*prefetched);
    }
    const auto add = [&](const char* name, Arrays<Array>& on, const auto& run) {
        kernel.techniques.push_back({.name = name,
                                     .reset = [&] { computation.reset(on); },
                                     .run = [&](std::int64_t iterations) { run(on, iterations); },
                                     .correct = [&] { return computation.correct(on); }});
    };
    add("naive element access", plain, computation.naive);
    if (cached) add("the same, arrays cached", *cached, computation.naive);
    if (prefetched) add("the same, prefetched", *prefetched, computation.naive);
    add("bulk patches", plain, computation.bulk);
    add("mapped", plain, computation.mapped);
    demo.run(kernel);
    return plain;
}

/// `compute` on both arrays, as often as iterations are wanted.
template <class Array>
std::function<void(Arrays<Array>&, std::int64_t)> repeated(void (*compute)(const Array& from, Array& to)) {
    return [compute](Arrays<Array>& on, std::int64_t iterations) {
        for (std::int64_t n = 0; n < iterations; ++n) compute(on.from, on.to);
    };
}

void edge_detection(Demo& demo, Runtime& runtime, const Options& options) {
    const Image picture = read_pgm(options.data + "/hubble-deep-field.pgm");
    const Block by_rows{.grid = {0, 1}};
    Image expected;
    const Arrays<Pixels> arrays = run_all<Pixels>(
        demo,
        {.name = "Sobel edge detection",
         .input = fmt::format("{} x {} pixels", picture.columns, picture.rows),
         .iteration = "sweep",
         .checked_iterations = 1,
         .serial = [&](std::int64_t) { expected = sobel_serial(picture); },
         .techniques = {}},
        {.make =
             [&](const CacheOptions& cache) {
                 Arrays<Pixels> made{
                     Pixels{runtime, {picture.rows, picture.columns}, by_rows, {.name = "image", .cache = cache}},
                     Pixels{runtime, {picture.rows, picture.columns}, by_rows, {.name = "edges", .cache = cache}}};
                 set_elements(made.from, picture.pixels);
                 return made;
             },
         .prefetch = [](Arrays<Pixels>& on) { on.from.prefetch(Stencil{}); },
         .reset = [](Arrays<Pixels>& on) { on.to.fill(0); },
         .naive = repeated(sobel_naive),
         .bulk = repeated(sobel_bulk),
         .mapped = repeated(sobel_mapped),
         .correct = [&](const Arrays<Pixels>& on) { return all_elements(on.to) == expected.pixels; }});
    if (demo.is_root() && !options.pictures.empty()) {
        write_pgm(options.pictures + "/edges.pgm",
                  {.rows = picture.rows, .columns = picture.columns, .pixels = all_elements(arrays.to)});
    }
    runtime.barrier();
}

void sparse_products(Demo& demo, Runtime& runtime, const Options& options) {
    const SparseMatrix matrix = read_matrix_market(options.data + "/qh1484.mtx");
    SparseMatrix own_rows;
    PowerIterationResult expected;
    std::vector<double> growth;
    const auto repeated_products = [&](Multiply multiply) {
        return [&, multiply](Arrays<Vector>& on, std::int64_t iterations) {
            growth = power_iteration(multiply, own_rows, on.from, on.to, iterations);
        };
    };
    (void)run_all<Vector>(
        demo,
        {.name = "sparse matrix times vector",
         .input = fmt::format("qh1484, {} rows, {} entries", matrix.rows, matrix.entries()),
         .iteration = "product",
         .checked_iterations = 50,
         .serial = [&](std::int64_t iterations) { expected = power_iteration_serial(matrix, iterations); },
         .techniques = {}},
        {.make =
             [&](const CacheOptions& cache) {
                 Arrays<Vector> made{Vector{runtime, {matrix.rows}, Block{}, {.name = "x", .cache = cache}},
                                     Vector{runtime, {matrix.rows}, Block{}, {.name = "y", .cache = cache}}};
                 own_rows = rows_of(matrix, made.from.local_domain().range(0));
                 return made;
             },
         .prefetch = [](Arrays<Vector>& on) { on.from.prefetch(AllToAll{}); },
         .reset = [&](Arrays<Vector>& on) { set_elements(on.from, starting_vector(matrix.rows)); },
         .naive = repeated_products(multiply_naive),
         .bulk = repeated_products(multiply_bulk),
         .mapped = repeated_products(multiply_mapped),
         .correct =
             [&](const Arrays<Vector>& on) {
                 return all_elements(on.from) == expected.x && growth == expected.growth;
             }});
    demo.say(fmt::format("  spectral radius of qh1484, from the growth of x: about {:.4g}",
                         spectral_radius(expected.growth)));
}

void heat_diffusion(Demo& demo, Runtime& runtime, const Options& options) {
    const std::int64_t n = options.cube;
    std::vector<double> expected;
    Arrays<Temperature> arrays = run_all<Temperature>(
        demo,
        {.name = "heat diffusion",
         .input = fmt::format("{} x {} x {} points", n, n, n),
         .iteration = "step",
         .checked_iterations = 10,
         .serial = [&](std::int64_t steps) { expected = heat_serial(n, steps); },
         .techniques = {}},
        {.make =
             [&](const CacheOptions& cache) {
                 return Arrays<Temperature>{Temperature{runtime, {n, n, n}, Block{}, {.name = "now", .cache = cache}},
                                            Temperature{runtime, {n, n, n}, Block{}, {.name = "next", .cache = cache}}};
             },
         .prefetch =
             [](Arrays<Temperature>& on) {
                 on.from.prefetch(Stencil{.corners = false});
                 on.to.prefetch(Stencil{.corners = false}); // they are swapped each step
             },
         .reset = [](Arrays<Temperature>& on) { set_initial_temperature(on.from, on.to); },
         .naive = [](Arrays<Temperature>& on, std::int64_t steps) { heat_naive(on.from, on.to, steps); },
         .bulk = [](Arrays<Temperature>& on, std::int64_t steps) { heat_bulk(on.from, on.to, steps); },
         .mapped = [](Arrays<Temperature>& on, std::int64_t steps) { heat_mapped(on.from, on.to, steps); },
         .correct = [&](const Arrays<Temperature>& on) { return all_elements(on.from) == expected; }});
    if (!options.pictures.empty()) {
        // More steps than the measurement had, so that there is something to see.
        auto& [now, next] = arrays;
        set_initial_temperature(now, next);
        heat_bulk(now, next, 200);
        if (demo.is_root()) {
            const PatchBuffer<double, 3> slice{now, Domain<3>{{0, n}, {0, n}, {n / 2, n / 2 + 1}}};
            const std::string file = options.pictures + "/heat-slice.txt";
            std::ofstream out{file};
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j) out << slice(i, j, n / 2) << (j == n - 1 ? '\n' : ' ');
            out.close();
            if (!out) throw FileError{fmt::format("{}: cannot be written", file)};
        }
        runtime.barrier();
    }
}

void matrix_transpose(Demo& demo, Runtime& runtime, const Options& options) {
    const Image picture = read_pgm(options.data + "/moon.pgm");
    const std::vector<double> values(picture.pixels.begin(), picture.pixels.end());
    const Block by_rows{.grid = {0, 1}};
    std::vector<double> expected;
    const Arrays<Matrix> arrays = run_all<Matrix>(
        demo,
        {.name = "matrix transpose",
         .input = fmt::format("{} x {} elements", picture.rows, picture.columns),
         .iteration = "transpose",
         .checked_iterations = 1,
         .serial = [&](std::int64_t) { expected = transpose_serial(values, picture.rows, picture.columns); },
         .techniques = {}},
        {.make =
             [&](const CacheOptions& cache) {
                 Arrays<Matrix> made{
                     Matrix{runtime, {picture.rows, picture.columns}, by_rows, {.name = "a", .cache = cache}},
                     Matrix{runtime, {picture.columns, picture.rows}, by_rows, {.name = "b", .cache = cache}}};
                 set_elements(made.from, values);
                 return made;
             },
         .prefetch =
             [](Arrays<Matrix>& on) {
                 on.from.prefetch([mine = on.to.local_domain()](const Domain<2>&) {
                     return Domain<2>{mine.range(1), mine.range(0)};
                 });
             },
         .reset = [](Arrays<Matrix>& on) { on.to.fill(0.0); },
         .naive = repeated(transpose_naive),
         .bulk = repeated(transpose_bulk),
         .mapped = repeated(transpose_mapped),
         .correct = [&](const Arrays<Matrix>& on) { return all_elements(on.to) == expected; }});
    if (demo.is_root() && !options.pictures.empty()) {
        Image transposed{.rows = picture.columns, .columns = picture.rows};
        for (const double value : all_elements(arrays.to))
            transposed.pixels.push_back(static_cast<std::uint8_t>(value));
        write_pgm(options.pictures + "/moon-transposed.pgm", transposed);
    }
    runtime.barrier();
}

/// Returns whether all results were right.
bool run(const Options& options) {
    Runtime runtime;
    Demo demo{runtime, options};
    edge_detection(demo, runtime, options);
    sparse_products(demo, runtime, options);
    heat_diffusion(demo, runtime, options);
    matrix_transpose(demo, runtime, options);
    if (demo.is_root() && !options.json.empty()) {
        std::ofstream out{options.json};
        out << Json{{"machine", machine()}, {"rows", demo.rows()}}.dump(2) << '\n';
        out.close();
        if (!out) throw FileError{fmt::format("{}: cannot be written", options.json)};
    }
    runtime.close();
    return demo.all_correct();
}

} // namespace

int main(int argument_count, char** arguments) {
    CLI::App app{"Runs the kernels on real inputs and checks them against serial computations; an MPI program"};
    Options options;
    app.add_option("--data", options.data, "directory of the inputs")->capture_default_str();
    app.add_option("--pictures", options.pictures, "directory for the edge image and a slice of the heat");
    app.add_option("--json", options.json, "file for the measurements");
    app.add_option("--network", options.network, "the launcher's network; goes into the table")->capture_default_str();
    app.add_option("--seconds", options.seconds, "length of one measurement, about")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--repetitions", options.repetitions, "of each measurement")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--cube", options.cube, "points along each side of the heat cube")
        ->check(CLI::Range(3, 2048))
        ->capture_default_str();
    if (const std::optional<int> code = tools::parse(app, argument_count, arguments)) return *code;
    try {
        return run(options) ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-demo: {}\n", error.what());
        return 2;
    }
}
