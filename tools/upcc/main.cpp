// lapwing-upcc: compiles UPC programs.
#include "driver.hpp"
#include "options.hpp"
#include "process.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
    try {
        const upcc::Options options = upcc::read_options({argv + 1, argv + argc});
        if (options.help) {
            std::cout << upcc::help();
            return 0;
        }
        if (!options.answer.empty()) {
            std::cout << options.answer << "\n";
            return 0;
        }
        const upcc::Configuration configuration = upcc::Configuration::of(argv[0]);
        if (options.version) {
            std::cout << "lapwing-upcc " << configuration.value("version") << ", with "
                      << configuration.value("clang_version") << " and " << configuration.value("mpi_version")
                      << "; UPC 1.3\n";
            return 0;
        }
        if (!options.asks_clang.empty()) return upcc::run({configuration.value("clang"), options.asks_clang});
        if (options.prints_includes) {
            std::cout << configuration.list("includes").at(0) << "\n";
            return 0;
        }
        upcc::Driver driver{options, configuration};
        return driver.work();
    } catch (const std::exception& problem) {
        std::cerr << "lapwing-upcc: " << problem.what() << "\n";
        return 2;
    }
}
