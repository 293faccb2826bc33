// lapwing-demo: runs the kernels of this directory on real inputs, with naive element access and with bulk patches, checks
// each against a serial computation, and says how long each took. scripts/demo builds it, starts it on every path and makes
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
#include <optional>
#include <string>
#include <string_view>
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

/// One kernel, set up on its input.
struct Kernel {
    std::string name;
    std::string input;
    std::string iteration;           ///< what one iteration is called
    std::int64_t checked_iterations; ///< how many are compared with the serial computation
    std::function<void()> reset;     ///< sets the arrays to the start; collective
    std::function<void(std::int64_t)> naive;
    std::function<void(std::int64_t)> bulk;
    std::function<void(std::int64_t)> serial; ///< computes the expected result; on rank 0 only
    std::function<bool()> correct;            ///< compares the arrays with it; on rank 0 only
};

class Demo {
public:
    Demo(Runtime& runtime, const Options& options) : runtime_{runtime}, options_{options} {}

    /// Collective.
    void run(const Kernel& kernel) {
        Json row = {{"bench", "kernels"},
                    {"case", kernel.name + ", " + kernel.input},
                    {"mpi", mpi_name()},
                    {"network", options_.network},
                    {"path", path()},
                    {"ranks", runtime_.size()},
                    {"metric", "time of an iteration"},
                    {"unit", "ms"},
                    {"kernel", kernel.name},
                    {"input", kernel.input},
                    {"iteration", kernel.iteration},
                    {"checked_iterations", kernel.checked_iterations}};

        // The other ranks wait meanwhile, which is as quiet as an oversubscribed machine gets.
        double serial = 0;
        if (is_root()) serial = seconds_of([&] { kernel.serial(kernel.checked_iterations); });
        runtime_.barrier();
        row["serial_value"] = 1e3 * serial / static_cast<double>(kernel.checked_iterations);

        const Technique naive{"naive element access", kernel.naive};
        const Technique bulk{"bulk patches", kernel.bulk};
        std::vector<double> naive_ms, bulk_ms;
        const std::int64_t naive_iterations = check(kernel, naive, row["naive_verified"]);
        const std::int64_t bulk_iterations = check(kernel, bulk, row["bulk_verified"]);
        // In turns, so that a machine that becomes slower does not favour one of them.
        for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
            naive_ms.push_back(measure(kernel, naive, naive_iterations));
            bulk_ms.push_back(measure(kernel, bulk, bulk_iterations));
        }
        row["technique"] = bulk.name;
        row["value"] = median(bulk_ms);
        row["min"] = std::ranges::min(bulk_ms);
        row["max"] = std::ranges::max(bulk_ms);
        row["iterations"] = bulk_iterations;
        row["baseline"] = naive.name;
        row["baseline_value"] = median(naive_ms);
        row["baseline_iterations"] = naive_iterations;
        std::vector<double> ratios;
        for (std::size_t i = 0; i < naive_ms.size(); ++i) ratios.push_back(naive_ms[i] / bulk_ms[i]);
        row["ratio"] = median(ratios);
        row["repetitions"] = options_.repetitions;
        rows_.push_back(std::move(row));
    }

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
    struct Technique {
        const char* name;
        const std::function<void(std::int64_t)>& run;
    };

    /// Compares with the serial result. Returns how many iterations a measurement should have.
    std::int64_t check(const Kernel& kernel, const Technique& technique, Json& verified) {
        kernel.reset();
        const double seconds = timed(technique, kernel.checked_iterations);
        std::int64_t verdict = is_root() && !kernel.correct() ? 1 : 0;
        runtime_.max(std::span{&verdict, 1}); // and the others wait until rank 0 has read the result
        verified = verdict == 0;
        all_correct_ = all_correct_ && verdict == 0;
        say(fmt::format("  {}, {}, path {}: {} {}{}, {}", kernel.name, technique.name, path(),
                        kernel.checked_iterations, kernel.iteration, kernel.checked_iterations == 1 ? "" : "s",
                        verdict == 0 ? "same as the serial result to the bit" : "DIFFERENT from the serial result"));
        const double one = seconds / static_cast<double>(kernel.checked_iterations);
        auto iterations = static_cast<std::int64_t>(std::clamp(options_.seconds / one, 1.0, 1e6));
        runtime_.max(std::span{&iterations, 1}); // one number for all ranks
        return iterations;
    }

    double measure(const Kernel& kernel, const Technique& technique, std::int64_t iterations) {
        kernel.reset();
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

void edge_detection(Demo& demo, Runtime& runtime, const Options& options) {
    const Image picture = read_pgm(options.data + "/hubble-deep-field.pgm");
    const Block by_rows{.grid = {0, 1}};
    Pixels image{runtime, {picture.rows, picture.columns}, by_rows, {.name = "image"}};
    Pixels edges{runtime, {picture.rows, picture.columns}, by_rows, {.name = "edges"}};
    set_elements(image, picture.pixels);
    Image expected;
    const auto repeated = [&](void (*sobel)(const Pixels&, Pixels&)) {
        return [&, sobel](std::int64_t iterations) {
            for (std::int64_t n = 0; n < iterations; ++n) sobel(image, edges);
        };
    };
    demo.run({.name = "Sobel edge detection",
              .input = fmt::format("{} x {} pixels", picture.columns, picture.rows),
              .iteration = "sweep",
              .checked_iterations = 1,
              .reset = [&] { edges.fill(0); },
              .naive = repeated(sobel_naive),
              .bulk = repeated(sobel_bulk),
              .serial = [&](std::int64_t) { expected = sobel_serial(picture); },
              .correct = [&] { return all_elements(edges) == expected.pixels; }});
    if (demo.is_root() && !options.pictures.empty()) {
        write_pgm(options.pictures + "/edges.pgm",
                  {.rows = picture.rows, .columns = picture.columns, .pixels = all_elements(edges)});
    }
    edges.close();
    image.close();
}

void sparse_products(Demo& demo, Runtime& runtime, const Options& options) {
    const SparseMatrix matrix = read_matrix_market(options.data + "/qh1484.mtx");
    Vector x{runtime, {matrix.rows}, Block{}, {.name = "x"}};
    Vector y{runtime, {matrix.rows}, Block{}, {.name = "y"}};
    const SparseMatrix own_rows = rows_of(matrix, x.local_domain().range(0));
    PowerIterationResult expected;
    std::vector<double> growth;
    const auto repeated = [&](Multiply multiply) {
        return
            [&, multiply](std::int64_t iterations) { growth = power_iteration(multiply, own_rows, x, y, iterations); };
    };
    demo.run({.name = "sparse matrix times vector",
              .input = fmt::format("qh1484, {} rows, {} entries", matrix.rows, matrix.entries()),
              .iteration = "product",
              .checked_iterations = 50,
              .reset = [&] { set_elements(x, starting_vector(matrix.rows)); },
              .naive = repeated(multiply_naive),
              .bulk = repeated(multiply_bulk),
              .serial = [&](std::int64_t iterations) { expected = power_iteration_serial(matrix, iterations); },
              .correct = [&] { return all_elements(x) == expected.x && growth == expected.growth; }});
    demo.say(fmt::format("  spectral radius of qh1484, from the growth of x: about {:.4g}",
                         spectral_radius(expected.growth)));
    y.close();
    x.close();
}

void heat_diffusion(Demo& demo, Runtime& runtime, const Options& options) {
    const std::int64_t n = options.cube;
    Temperature now{runtime, {n, n, n}, Block{}, {.name = "now"}};
    Temperature next{runtime, {n, n, n}, Block{}, {.name = "next"}};
    std::vector<double> expected;
    demo.run({.name = "heat diffusion",
              .input = fmt::format("{} x {} x {} points", n, n, n),
              .iteration = "step",
              .checked_iterations = 10,
              .reset = [&] { set_initial_temperature(now, next); },
              .naive = [&](std::int64_t steps) { heat_naive(now, next, steps); },
              .bulk = [&](std::int64_t steps) { heat_bulk(now, next, steps); },
              .serial = [&](std::int64_t steps) { expected = heat_serial(n, steps); },
              .correct = [&] { return all_elements(now) == expected; }});
    if (!options.pictures.empty()) {
        // More steps than the measurement had, so that there is something to see.
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
    next.close();
    now.close();
}

void matrix_transpose(Demo& demo, Runtime& runtime, const Options& options) {
    const Image picture = read_pgm(options.data + "/moon.pgm");
    const std::vector<double> values(picture.pixels.begin(), picture.pixels.end());
    const Block by_rows{.grid = {0, 1}};
    Matrix a{runtime, {picture.rows, picture.columns}, by_rows, {.name = "a"}};
    Matrix b{runtime, {picture.columns, picture.rows}, by_rows, {.name = "b"}};
    set_elements(a, values);
    std::vector<double> expected;
    const auto repeated = [&](void (*transpose)(const Matrix&, Matrix&)) {
        return [&, transpose](std::int64_t iterations) {
            for (std::int64_t n = 0; n < iterations; ++n) transpose(a, b);
        };
    };
    demo.run({.name = "matrix transpose",
              .input = fmt::format("{} x {} elements", picture.rows, picture.columns),
              .iteration = "transpose",
              .checked_iterations = 1,
              .reset = [&] { b.fill(0.0); },
              .naive = repeated(transpose_naive),
              .bulk = repeated(transpose_bulk),
              .serial = [&](std::int64_t) { expected = transpose_serial(values, picture.rows, picture.columns); },
              .correct = [&] { return all_elements(b) == expected; }});
    if (demo.is_root() && !options.pictures.empty()) {
        Image transposed{.rows = picture.columns, .columns = picture.rows};
        for (const double value : all_elements(b)) transposed.pixels.push_back(static_cast<std::uint8_t>(value));
        write_pgm(options.pictures + "/moon-transposed.pgm", transposed);
    }
    runtime.barrier();
    b.close();
    a.close();
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
