#include "bindings/c/settings.hpp"

#include "bindings/c/call.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

namespace {

/// All settings, with their choices as one text.
struct SettingsList {
    std::vector<lapwing::SettingInfo> settings = lapwing::all_settings();
    std::vector<std::string> choices;

    SettingsList() {
        for (const lapwing::SettingInfo& one : settings)
            choices.push_back(fmt::format("{}", fmt::join(one.choices, " ")));
    }
};

const SettingsList& list() {
    static const auto& all = *new SettingsList; // never destroyed: programs may ask at exit
    return all;
}

} // namespace

extern "C" {

int lapwing_settings_create(lapwing_settings** settings) {
    return guarded("lapwing_settings_create", [&] {
        require_pointer(settings, "settings");
        *settings = Handles<lapwing_settings>::make();
    });
}

int lapwing_settings_free(lapwing_settings** settings) {
    return guarded("lapwing_settings_free", [&] {
        require_pointer(settings, "settings");
        if (*settings == nullptr) return;
        (void)use(*settings);
        end_handle(settings);
    });
}

int lapwing_settings_set(lapwing_settings* settings, const char* name, const char* value) {
    return guarded("lapwing_settings_set", [&] {
        require_pointer(name, "name");
        require_pointer(value, "value");
        use(settings).values.set(name, value);
    });
}

int lapwing_settings_text(const lapwing_settings* settings, const char* name, const char** text) {
    return guarded("lapwing_settings_text", [&] {
        require_pointer(name, "name");
        require_pointer(text, "text");
        *text = kept_text(use(settings).values.text(name));
    });
}

int lapwing_settings_origin(const lapwing_settings* settings, const char* name, const char** text) {
    return guarded("lapwing_settings_origin", [&] {
        require_pointer(name, "name");
        require_pointer(text, "text");
        *text = kept_text(std::string{use(settings).values.origin(name)});
    });
}

int lapwing_settings_count(size_t* count) {
    return guarded("lapwing_settings_count", [&] {
        require_pointer(count, "count");
        *count = list().settings.size();
    });
}

int lapwing_settings_info(size_t k, lapwing_setting_info* info) {
    return guarded("lapwing_settings_info", [&] {
        require_pointer(info, "info");
        const SettingsList& all = list();
        if (k >= all.settings.size())
            throw lapwing::RangeError{
                fmt::format("there is no setting {}; there are {}, from 0 on", k, all.settings.size())};
        const lapwing::SettingInfo& one = all.settings[k];
        *info = {one.name.c_str(),       one.default_value.c_str(), one.unit.c_str(),      one.help.c_str(),
                 all.choices[k].c_str(), one.range.c_str(),         one.collective ? 1 : 0};
    });
}

} // extern "C"
