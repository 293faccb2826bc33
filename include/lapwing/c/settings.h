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

/// The values that a runtime works with. What the program sets wins over the environment, which wins over the default.
typedef struct lapwing_settings lapwing_settings;

/// What there is to know of a setting. The texts stay as they are until the program ends.
typedef struct lapwing_setting_info {
    const char* name;          ///< of the environment variable, LAPWING_...
    const char* default_value; ///< as it would be written in the environment
    const char* unit;          ///< "bytes", "us", ... or empty
    const char* help;          ///< one line
    const char* choices;       ///< the allowed words, with spaces between them; empty for numbers and free text
    const char* range;         ///< what else is allowed, in words
    int collective;            ///< whether it must have the same value on all ranks of a runtime
} lapwing_setting_info;

/// Values from the environment. LAPWING_ERR_SETTING when a variable that starts with LAPWING_ is no setting. Local, any
/// thread; the object is for one thread at a time.
int lapwing_settings_create(lapwing_settings** settings);
/// Frees them and makes `*settings` null; runtimes keep what they were made with. Of a null pointer nothing. Local.
int lapwing_settings_free(lapwing_settings** settings);
/// Sets one value for the runtimes that are made from this object: ("LAPWING_PATH", "service"). LAPWING_ERR_SETTING
/// when there is no such setting or the value is not allowed; the text lists what is. Local.
int lapwing_settings_set(lapwing_settings* settings, const char* name, const char* value);
/// The value in effect; `*text` stays until the thread's next call that gives a text. LAPWING_ERR_SETTING when there is
/// no such setting. Local.
int lapwing_settings_text(const lapwing_settings* settings, const char* name, const char** text);
/// Where it comes from: "program", "environment" or "default". As above. Local.
int lapwing_settings_origin(const lapwing_settings* settings, const char* name, const char** text);

/// Every setting of the library: how many, and the k-th, in the order of their names. LAPWING_ERR_RANGE. Local, any
/// thread.
int lapwing_settings_count(size_t* count);
int lapwing_settings_info(size_t k, lapwing_setting_info* info);

#ifdef __cplusplus
}
#endif

#endif
