#pragma once

#if defined(__SANITIZE_THREAD__)
#define LAPWING_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAPWING_THREAD_SANITIZER 1
#endif
#endif

#ifdef LAPWING_THREAD_SANITIZER
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}
#endif

namespace lapwing::detail::support {

/// In its scope ThreadSanitizer does not see what this thread reads (nor what it writes, which makes no difference); it
/// does nothing in other builds. For the engine's calls of MPI, whose copies read whole lines of a window for cached
/// readers (see copy_for_reader()): tests/support/tsan.supp suppresses races in MPI libraries, but only as long as
/// ThreadSanitizer remembers the call of the earlier access.
class UnseenAccesses {
public:
#ifdef LAPWING_THREAD_SANITIZER
    UnseenAccesses() noexcept { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
    ~UnseenAccesses() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
    UnseenAccesses() noexcept {}
    ~UnseenAccesses() {}
#endif
    UnseenAccesses(const UnseenAccesses&) = delete;
    UnseenAccesses& operator=(const UnseenAccesses&) = delete;
};

} // namespace lapwing::detail::support
