// Settings that do not exist, values that are not allowed, ranks that do not agree.
#include "runtime/bad_input.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <string>
#include <string_view>

namespace {

using lapwing::Runtime;
using lapwing::SettingError;
using lapwing::Settings;
using lapwing::Window;
using test::message_of;
using test::says;
using test::ScopedEnvironment;

} // namespace

TEST_CASE("an environment variable that is no setting is refused, with the nearest name") {
    Runtime runtime;
    Window window{runtime, 80};
    {
        const ScopedEnvironment misspelt{"LAPWING_PAHT", "auto"};
        CHECK_THAT(message_of<SettingError>([] { Runtime{}; }), says({"LAPWING_PAHT", "environment", "no such setting",
                                                                      "did you mean LAPWING_PATH?", "lapwing-info"}));
    }
    {
        const ScopedEnvironment misspelt{"LAPWING_PROGRES_SLEEP", "5"};
        CHECK_THAT(message_of<SettingError>([] { Settings{}; }), says({"did you mean LAPWING_PROGRESS_SLEEP?"}));
    }
    {
        // Too far from every name for a guess.
        const ScopedEnvironment unknown{"LAPWING_ZZZZZZZZZZZZZZ", ""};
        const std::string message = message_of<SettingError>([] { Settings{}; });
        CHECK_THAT(message, says({"LAPWING_ZZZZZZZZZZZZZZ", "no such setting", "lapwing-info"}));
        CHECK(message.find("did you mean") == std::string::npos);
    }
    {
        const ScopedEnvironment others{"LAPWINGS", "belong to somebody else"};
        const ScopedEnvironment module{"LAPWING_ROOT", "/opt/lapwing"}; // as a module file sets it
        const ScopedEnvironment version{"LAPWING_VERSION", "0.1"};
        CHECK_NOTHROW(Settings{});
        CHECK_THAT(message_of<SettingError>([] { Settings{}.set("LAPWING_ROOT", "/opt"); }), says({"no such setting"}));
    }
    test::check_goes_on(runtime, window);
}

TEST_CASE("a value that a setting does not allow is refused, with what is allowed") {
    Runtime runtime;
    Window window{runtime, 80};
    {
        const ScopedEnvironment wrong{"LAPWING_PATH", "telegraph"};
        CHECK_THAT(message_of<SettingError>([] { Runtime{}; }),
                   says({"LAPWING_PATH=telegraph", "environment", "not allowed", "auto, direct, rma, service"}));
    }
    {
        const ScopedEnvironment empty{"LAPWING_PROGRESS", ""};
        CHECK_THAT(message_of<SettingError>([] { Settings{}; }), says({"LAPWING_PROGRESS=", "auto, thread, caller"}));
    }
    for (const std::string value : {"511", "1048577", "2m", "-1", "8 k", "8kk", "0x200", "1e3", "k", "",
                                    "99999999999999999999", "17179869184g"}) {
        const ScopedEnvironment wrong{"LAPWING_SERVICE_PACKET", value};
        CHECK_THAT(message_of<SettingError>([] { Settings{}; }),
                   says({"LAPWING_SERVICE_PACKET=" + value, "environment", "whole number from 512 to 1048576 bytes"}));
    }
    for (const char* value : {"512", "1k", "1M", "1048576"})
        CHECK(Settings{{"LAPWING_SERVICE_PACKET", value}}.text("LAPWING_SERVICE_PACKET") == value);
    for (const char* value : {"json:", "yaml:x", "Text"})
        CHECK_THAT(message_of<SettingError>([&] { Settings{{"LAPWING_STATS", value}}; }),
                   says({std::string{"LAPWING_STATS="} + value, "Settings::set", "text", "json:FILE"}));
    CHECK_THAT(message_of<SettingError>([] { Settings{}.set("LAPWING_NODES", "each"); }),
               says({"LAPWING_NODES", "Settings::set", "did you mean LAPWING_NODE?"}));
    CHECK_THAT(message_of<SettingError>([] { (void)Settings{}.text("PATH"); }), says({"PATH", "Settings::text"}));
    CHECK_THAT(message_of<SettingError>([] { (void)Settings{}.origin("PATH"); }), says({"PATH", "Settings::origin"}));
    test::check_goes_on(runtime, window);
}

TEST_CASE("the program's values win over the environment's, and those over the defaults") {
    const ScopedEnvironment none{"LAPWING_PROGRESS_SPIN", {}};
    Settings settings;
    CHECK(settings.text("LAPWING_PROGRESS_SPIN") == "200");
    CHECK(settings.origin("LAPWING_PROGRESS_SPIN") == "default");
    const ScopedEnvironment some{"LAPWING_PROGRESS_SPIN", "300"};
    settings = Settings{};
    CHECK(settings.text("LAPWING_PROGRESS_SPIN") == "300");
    CHECK(settings.origin("LAPWING_PROGRESS_SPIN") == "environment");
    settings.set("LAPWING_PROGRESS_SPIN", "400");
    CHECK(settings.text("LAPWING_PROGRESS_SPIN") == "400");
    CHECK(settings.origin("LAPWING_PROGRESS_SPIN") == "program");
}

TEST_CASE("a path that cannot be taken is refused") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() > 1) {
        const Settings settings{{"LAPWING_NODE", "each"}, {"LAPWING_PATH", "direct"}};
        CHECK_THAT(message_of<SettingError>([&] { Runtime(MPI_COMM_WORLD, settings); }),
                   says({runtime.who(), "LAPWING_PATH=direct", "on one node", std::to_string(runtime.size()) + " nodes",
                         "use auto, rma or service"}));
    }
    test::check_goes_on(runtime, window);
}

TEST_CASE("a setting that must be the same on all ranks is compared") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() == 1) return;
    const bool last = runtime.rank().value == runtime.size() - 1;
    const auto check = [&](const char* name, const char* usual, const char* other) {
        Settings settings;
        settings.set(name, last ? other : usual);
        CHECK_THAT(message_of<lapwing::MismatchError>([&] { Runtime(MPI_COMM_WORLD, settings); }),
                   says({runtime.who(), name, last ? other : usual, "another rank", "alike on all ranks"}));
        test::check_goes_on(runtime, window);
    };
    check("LAPWING_PATH", "auto", "service");
    check("LAPWING_NODE", "each", "auto");
    check("LAPWING_PROGRESS", "auto", "caller");
    check("LAPWING_SERVICE_PACKET", "8k", "4k");
}
