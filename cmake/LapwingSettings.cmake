# lapwing_settings_in(source…)
# names the sources of a room that declare settings (include/lapwing/settings.hpp), so that every program knows all of them.
#
# A setting is a static object in the source that uses it, and the linker takes from a static library only what something refers to:
# a program without windows would reject the settings of windows as unknown. So each of these sources defines an empty function,
# named after its room and itself, and a generated source refers to all of them. The code that looks settings up refers to the
# generated one, so this works for every program, however it is linked. No room needs to know another.
#
# A source that is not named here is found by the tests settings_known.*.

include_guard(GLOBAL)

function(lapwing_settings_in)
    get_filename_component(room "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
    foreach(source IN LISTS ARGN)
        get_filename_component(name "${source}" NAME_WE)
        set_property(GLOBAL APPEND PROPERTY LAPWING_SETTINGS_IN ${room}_${name})
    endforeach()
endfunction()

# After all rooms.
function(lapwing_add_settings_list target)
    get_property(names GLOBAL PROPERTY LAPWING_SETTINGS_IN)
    set(declarations "")
    set(calls "")
    foreach(name IN LISTS names)
        string(APPEND declarations "void ${name}();\n")
        string(APPEND calls "    settings_in::${name}();\n")
    endforeach()
    file(
        CONFIGURE
        OUTPUT "${PROJECT_BINARY_DIR}/settings_list.cpp"
        CONTENT
            "// Written by cmake/LapwingSettings.cmake, which says why.
namespace lapwing::detail::support {
namespace settings_in {
${declarations}}
void link_all_settings();
void link_all_settings() {
${calls}}
} // namespace lapwing::detail::support
"
        @ONLY
    )
    target_sources(${target} PRIVATE "${PROJECT_BINARY_DIR}/settings_list.cpp")
endfunction()
