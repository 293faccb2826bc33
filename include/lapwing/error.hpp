// Room: support
#pragma once

#include <stdexcept>
#include <string>

namespace lapwing {

/// Base of all exceptions that Lapwing throws. The text names the rank, the call, the values, the limit and the remedy.
/// The program can continue after an error: the failed call has had no effect unless its documentation says otherwise.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A rank, offset, index, size or count is outside its limits.
class RangeError : public Error {
public:
    using Error::Error;
};

/// A call that the state of the object does not allow: use after close, unlocking a lock that is not held, wait without
/// notify.
class UsageError : public Error {
public:
    using Error::Error;
};

/// A setting (environment variable or API) that is unknown or has a value that is not allowed.
class SettingError : public Error {
public:
    using Error::Error;
};

/// Ranks passed different arguments to a collective call.
class MismatchError : public Error {
public:
    using Error::Error;
};

/// Another rank left the team before its close (by an exception, or after a mismatch, as the text says), so that a
/// collective call or a wait can no longer complete.
class PeerLeftError : public Error {
public:
    using Error::Error;
};

/// A function at another rank has thrown; the text names the rank and the function, and has the exception's own.
class FunctionError : public Error {
public:
    using Error::Error;
};

/// A file that cannot be read or written, or does not hold what it should.
class FileError : public Error {
public:
    using Error::Error;
};

/// An MPI call failed. The text includes MPI's own.
class MpiError : public Error {
public:
    /// `code` is what the MPI call returned.
    MpiError(const std::string& text, int code) : Error{text}, code_{code} {}

    /// The error code that the MPI call returned.
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    int code_;
};

} // namespace lapwing
