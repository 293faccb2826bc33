// lapwing-demo: runs the kernels of this directory on real inputs, with naive element access, with the same to cached arrays,
// and with bulk patches, checks each against a serial computation, and says how long each took. scripts/demo builds it, starts it on every path and makes
// the table.
#include "heat.hpp"
#include "image.hpp"
#include "machine.hpp"
#include "median.hpp"
#include "patch_buffer.hpp"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "sparse_matrix.hpp"
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
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace lapwing;
using namespace lapwing::kernels;
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
            for (std::size_t i = 0; i < all.size(); ++i) all[i].ms.push_back(measure(kernel.techniques[i], all[i].iterations));
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

    /// Whether arrays of other ranks can be cached: not if all are of one node.
    [[nodiscard]] bool caches() const { return runtime_.nodes() > 1; }
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

constexpr const char* naive = "naive element access";
constexpr const char* naive_cached = "the same, arrays cached";
constexpr const char* bulk = "bulk patches";

[[nodiscard]] GlobalArrayOptions array_options(std::string name, CacheMode mode) {
    return {.name = std::move(name), .cache = {.mode = mode}};
}

/// Calls `body(CacheMode)` for plain arrays and, where it makes a difference, for cached ones.
template <class Body>
void for_each_mode(const Demo& demo, Body body) {
    body(CacheMode::off);
    if (demo.caches()) body(CacheMode::epoch);
}

void edge_detection(Demo& demo, const Options& options, Runtime& runtime) {
    const Image picture = read_pgm(options.data + "/hubble-deep-field.pgm");
    const Block by_rows{.grid = {0, 1}};
    struct Arrays {
        Pixels image;
        Pixels edges;
    };
    std::list<Arrays> arrays; // stays where it is
    Image expected;
    Kernel kernel{.name = "Sobel edge detection",
                  .input = fmt::format("{} x {} pixels", picture.columns, picture.rows),
                  .iteration = "sweep",
                  .checked_iterations = 1,
                  .serial = [&](std::int64_t) { expected = sobel_serial(picture); },
                  .techniques = {}};
    const auto add = [&](const char* name, Arrays& on, void (*sobel)(const Pixels&, Pixels&)) {
        kernel.techniques.push_back({.name = name,
                                     .reset = [&on] { on.edges.fill(0); },
                                     .run = [&on, sobel](std::int64_t iterations) {
                                         for (std::int64_t n = 0; n < iterations; ++n) sobel(on.image, on.edges);
                                     },
                                     .correct = [&] { return all_elements(on.edges) == expected.pixels; }});
    };
    for_each_mode(demo, [&](CacheMode mode) {
        arrays.push_back({Pixels{runtime, {picture.rows, picture.columns}, by_rows, array_options("image", mode)},
                          Pixels{runtime, {picture.rows, picture.columns}, by_rows, array_options("edges", mode)}});
        Arrays& on = arrays.back();
        set_elements(on.image, picture.pixels);
        add(mode == CacheMode::off ? naive : naive_cached, on, sobel_naive);
    });
    add(bulk, arrays.front(), sobel_bulk);
    demo.run(kernel);
    if (demo.is_root() && !options.pictures.empty()) {
        write_pgm(options.pictures + "/edges.pgm",
                  {.rows = picture.rows, .columns = picture.columns, .pixels = all_elements(arrays.front().edges)});
    }
    runtime.barrier();
}

void sparse_products(Demo& demo, const Options& options, Runtime& runtime) {
    const SparseMatrix matrix = read_matrix_market(options.data + "/qh1484.mtx");
    struct Arrays {
        Vector x;
        Vector y;
    };
    std::list<Arrays> arrays;
    PowerIterationResult expected;
    std::vector<double> growth;
    SparseMatrix own_rows;
    Kernel kernel{.name = "sparse matrix times vector",
                  .input = fmt::format("qh1484, {} rows, {} entries", matrix.rows, matrix.entries()),
                  .iteration = "product",
                  .checked_iterations = 50,
                  .serial = [&](std::int64_t iterations) { expected = power_iteration_serial(matrix, iterations); },
                  .techniques = {}};
    const auto add = [&](const char* name, Arrays& on, Multiply multiply) {
        kernel.techniques.push_back(
            {.name = name,
             .reset = [&] { set_elements(on.x, starting_vector(matrix.rows)); },
             .run = [&, multiply](
                        std::int64_t iterations) { growth = power_iteration(multiply, own_rows, on.x, on.y, iterations); },
             .correct = [&] { return all_elements(on.x) == expected.x && growth == expected.growth; }});
    };
    for_each_mode(demo, [&](CacheMode mode) {
        arrays.push_back({Vector{runtime, {matrix.rows}, Block{}, array_options("x", mode)},
                          Vector{runtime, {matrix.rows}, Block{}, array_options("y", mode)}});
        Arrays& on = arrays.back();
        own_rows = rows_of(matrix, on.x.local_domain().range(0));
        add(mode == CacheMode::off ? naive : naive_cached, on, multiply_naive);
    });
    add(bulk, arrays.front(), multiply_bulk);
    demo.run(kernel);
    demo.say(fmt::format("  spectral radius of qh1484, from the growth of x: about {:.4g}",
                         spectral_radius(expected.growth)));
}

void heat_diffusion(Demo& demo, const Options& options, Runtime& runtime) {
    const std::int64_t n = options.cube;
    struct Arrays {
        Temperature now;
        Temperature next;
    };
    std::list<Arrays> arrays;
    std::vector<double> expected;
    Kernel kernel{.name = "heat diffusion",
                  .input = fmt::format("{} x {} x {} points", n, n, n),
                  .iteration = "step",
                  .checked_iterations = 10,
                  .serial = [&](std::int64_t steps) { expected = heat_serial(n, steps); },
                  .techniques = {}};
    const auto add = [&](const char* name, Arrays& on, void (*heat)(Temperature&, Temperature&, std::int64_t)) {
        kernel.techniques.push_back({.name = name,
                                     .reset = [&on] { set_initial_temperature(on.now, on.next); },
                                     .run = [&on, heat](std::int64_t steps) { heat(on.now, on.next, steps); },
                                     .correct = [&] { return all_elements(on.now) == expected; }});
    };
    for_each_mode(demo, [&](CacheMode mode) {
        arrays.push_back({Temperature{runtime, {n, n, n}, Block{}, array_options("now", mode)},
                          Temperature{runtime, {n, n, n}, Block{}, array_options("next", mode)}});
        Arrays& on = arrays.back();
        add(mode == CacheMode::off ? naive : naive_cached, on, heat_naive);
    });
    add(bulk, arrays.front(), heat_bulk);
    demo.run(kernel);
    if (!options.pictures.empty()) {
        // More steps than the measurement had, so that there is something to see.
        auto& [now, next] = arrays.front();
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

void matrix_transpose(Demo& demo, const Options& options, Runtime& runtime) {
    const Image picture = read_pgm(options.data + "/moon.pgm");
    const std::vector<double> values(picture.pixels.begin(), picture.pixels.end());
    const Block by_rows{.grid = {0, 1}};
    struct Arrays {
        Matrix a;
        Matrix b;
    };
    std::list<Arrays> arrays;
    std::vector<double> expected;
    Kernel kernel{.name = "matrix transpose",
                  .input = fmt::format("{} x {} elements", picture.rows, picture.columns),
                  .iteration = "transpose",
                  .checked_iterations = 1,
                  .serial = [&](std::int64_t) { expected = transpose_serial(values, picture.rows, picture.columns); },
                  .techniques = {}};
    const auto add = [&](const char* name, Arrays& on, void (*transpose)(const Matrix&, Matrix&)) {
        kernel.techniques.push_back({.name = name,
                                     .reset = [&on] { on.b.fill(0.0); },
                                     .run = [&on, transpose](std::int64_t iterations) {
                                         for (std::int64_t n = 0; n < iterations; ++n) transpose(on.a, on.b);
                                     },
                                     .correct = [&] { return all_elements(on.b) == expected; }});
    };
    for_each_mode(demo, [&](CacheMode mode) {
        arrays.push_back({Matrix{runtime, {picture.rows, picture.columns}, by_rows, array_options("a", mode)},
                          Matrix{runtime, {picture.columns, picture.rows}, by_rows, array_options("b", mode)}});
        Arrays& on = arrays.back();
        set_elements(on.a, values);
        add(mode == CacheMode::off ? naive : naive_cached, on, transpose_naive);
    });
    add(bulk, arrays.front(), transpose_bulk);
    demo.run(kernel);
    if (demo.is_root() && !options.pictures.empty()) {
        Image transposed{.rows = picture.columns, .columns = picture.rows};
        for (const double value : all_elements(arrays.front().b)) transposed.pixels.push_back(static_cast<std::uint8_t>(value));
        write_pgm(options.pictures + "/moon-transposed.pgm", transposed);
    }
    runtime.barrier();
}

/// Returns whether all results were right.
bool run(const Options& options) {
    Runtime runtime;
    Demo demo{runtime, options};
    edge_detection(demo, options, runtime);
    sparse_products(demo, options, runtime);
    heat_diffusion(demo, options, runtime);
    matrix_transpose(demo, options, runtime);
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
    app.add_option("--network", options.network, "what the launcher was told; goes into the table")
        ->capture_default_str();
    app.add_option("--seconds", options.seconds, "length of one measurement, about")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--repetitions", options.repetitions, "of each measurement")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--cube", options.cube, "points along each side of the heat cube")
        ->check(CLI::Range(3, 2048))
        ->capture_default_str();
    CLI11_PARSE(app, argument_count, arguments);
    try {
        return run(options) ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-demo: {}\n", error.what());
        return 2;
    }
}
