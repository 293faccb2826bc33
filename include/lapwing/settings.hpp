// Room: support
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing {

/// One setting, as `lapwing-info` and docs/settings.md describe it.
struct SettingInfo {
    std::string name;                      ///< name of the environment variable, LAPWING_…
    std::string default_value;             ///< as it would be written in the environment
    std::string unit;                      ///< "bytes", "us", … or empty
    std::string help;                      ///< one line
    std::vector<std::string> choices = {}; ///< allowed words, filled in automatically; empty for numbers and free text
    bool collective = false;               ///< must have the same value on all ranks of a runtime
    std::string range = {}; ///< other limits in words: "from 0 to 1000"; filled in automatically for numbers
};

/// Every setting of the library, sorted by name.
[[nodiscard]] std::vector<SettingInfo> all_settings();

/// The values that a runtime uses. Values set by the program take precedence over the environment, and that over the
/// defaults.
class Settings {
public:
    /// Values from the environment. Throws SettingError if a variable that starts with LAPWING_ is not a setting.
    Settings();

    /// As Settings(), and sets each (name, value) pair: `Settings{{"LAPWING_PATH", "service"}}`.
    Settings(std::initializer_list<std::pair<std::string_view, std::string_view>> values);

    /// Sets one value for the runtimes made from this object. Throws SettingError if there is no such setting or the
    /// value is not allowed; the message lists what is.
    Settings& set(std::string_view name, std::string_view value);

    /// The effective value as text. Throws SettingError if there is no such setting.
    [[nodiscard]] std::string text(std::string_view name) const;

    /// Where the effective value comes from: "program", "environment" or "default".
    [[nodiscard]] std::string_view origin(std::string_view name) const;

private:
    std::map<std::string, std::string, std::less<>> program_;
    std::map<std::string, std::string, std::less<>> environment_;
};

namespace detail::support {

/// For [[gnu::init_priority]] of the library's static objects with constructors: they are constructed before those of
/// the program, which may be runtimes. (Allowed are 101 to 65535; the program's have the default, the largest.)
inline constexpr int before_programs = 200;

/// One setting, declared once, as a static object next to the code that uses it, with the priority above. It has no
/// destructor, because the program's static objects may be runtimes, and may be destroyed at any time.
class Setting {
public:
    explicit Setting(SettingInfo info);
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

    [[nodiscard]] const SettingInfo& info() const noexcept { return info_; }

    /// Throws SettingError if `value`, found in `where`, is not allowed.
    virtual void check(std::string_view value, std::string_view where) const = 0;

protected:
    ~Setting() = default;
    [[nodiscard]] std::string value_in(const Settings& settings) const { return settings.text(info_.name); }

private:
    const SettingInfo& info_; ///< never destroyed, like the setting
};

/// A word that a setting allows, and the value that it means.
template <class Value>
struct Word {
    std::string_view word;
    Value value;
};

/// The word that means `value`; there must be one.
template <class Words, class Value>
[[nodiscard]] constexpr std::string_view word_of(const Words& words, const Value& value) noexcept {
    for (const auto& entry : words)
        if (entry.value == value) return entry.word;
    return "?";
}

/// A setting whose value is one of `info().choices`.
class WordSetting : public Setting {
public:
    using Setting::Setting;
    void check(std::string_view value, std::string_view where) const override;
};

/// A setting whose value is one of a few words, each of which means a value of the program.
template <class Value>
class ChoiceSetting final : public WordSetting {
public:
    ChoiceSetting(SettingInfo info, std::vector<Word<Value>> words)
        : WordSetting{with_choices(std::move(info), words)}, words_{*new std::vector<Word<Value>>{std::move(words)}} {}

    [[nodiscard]] Value get(const Settings& settings) const {
        const std::string chosen = value_in(settings);
        for (const Word<Value>& entry : words_)
            if (entry.word == chosen) return entry.value;
        return words_.front().value; // not reached: check() has seen it
    }
    [[nodiscard]] std::string_view word(const Value& value) const noexcept { return word_of(words_, value); }

private:
    [[nodiscard]] static SettingInfo with_choices(SettingInfo info, const std::vector<Word<Value>>& words) {
        for (const Word<Value>& entry : words) info.choices.emplace_back(entry.word);
        return info;
    }

    const std::vector<Word<Value>>& words_; ///< is never destroyed
};

/// A whole number, with the suffixes k, m and g (powers of 1024), within [lowest, highest].
class NumberSetting : public Setting {
public:
    NumberSetting(SettingInfo info, std::uint64_t lowest, std::uint64_t highest);
    void check(std::string_view value, std::string_view where) const override;
    [[nodiscard]] std::uint64_t get(const Settings& settings) const;

private:
    std::uint64_t lowest_;
    std::uint64_t highest_;
};

/// Free text, such as "json:FILE".
class TextSetting : public Setting {
public:
    using Setting::Setting;
    void check(std::string_view, std::string_view) const override {}
    [[nodiscard]] std::string get(const Settings& settings) const { return value_in(settings); }
};

} // namespace detail::support
} // namespace lapwing
