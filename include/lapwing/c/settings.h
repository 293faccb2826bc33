// Room: bindings
/*
 * Settings of a runtime: docs/settings.md.
 */
#ifndef LAPWING_C_SETTINGS_H
#define LAPWING_C_SETTINGS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The values that a runtime uses. Values set by the program take precedence over the environment, and that over the
/// defaults.
typedef struct lapwing_settings lapwing_settings;

/// The description of a setting. The texts are valid until the program ends.
typedef struct lapwing_setting_info {
    const char* name;          ///< of the environment variable, LAPWING_...
    const char* default_value; ///< as it would be written in the environment
    const char* unit;          ///< "bytes", "us", ... or empty
    const char* help;          ///< one line
    const char* choices;       ///< the allowed words, with spaces between them; empty for numbers and free text
    const char* range;         ///< other limits, in words
    int collective;            ///< whether it must have the same value on all ranks of a runtime
} lapwing_setting_info;

/// Values from the environment. LAPWING_ERR_SETTING if a variable that starts with LAPWING_ is not a setting. Local,
/// any thread; the object is for one thread at a time.
int lapwing_settings_create(lapwing_settings** settings);
/// Frees them and sets `*settings` to null; runtimes keep their values. Does nothing for a null pointer.
/// Local; one thread at a time for each object.
int lapwing_settings_free(lapwing_settings** settings);
/// Sets one value for the runtimes made from this object: ("LAPWING_PATH", "service"). LAPWING_ERR_SETTING if there is
/// no such setting or the value is not allowed; the text lists what is. Local; one thread at a time for each object.
int lapwing_settings_set(lapwing_settings* settings, const char* name, const char* value);
/// The effective value; `*text` is valid until the thread's next call that returns a text. LAPWING_ERR_SETTING if there
/// is no such setting. Local; one thread at a time for each object.
int lapwing_settings_text(const lapwing_settings* settings, const char* name, const char** text);
/// Where it comes from: "program", "environment" or "default". As above. Local; one thread at a time for each object.
int lapwing_settings_origin(const lapwing_settings* settings, const char* name, const char** text);

/// Every setting of the library: their number, and the k-th, sorted by name. LAPWING_ERR_RANGE. Local, any thread.
int lapwing_settings_count(size_t* count);
int lapwing_settings_info(size_t k, lapwing_setting_info* info);

#ifdef __cplusplus
}
#endif

#endif
