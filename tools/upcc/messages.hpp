#pragma once

#include "clang.hpp"
#include "prepass.hpp"
#include "report.hpp"

namespace upcc {

/// Also where Clang has nothing against it.
inline constexpr const char* shared_literal =
    "a compound literal cannot be shared; declare a shared object, static or at file scope";

/// Clang's messages in UPC's terms, at positions in the original source.
class Messages : public clang::DiagnosticConsumer {
public:
    Messages(const Prepared& prepared, Report& report) : prepared_{prepared}, report_{report} {}
    void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;

private:
    [[nodiscard]] std::string text(const clang::Diagnostic& info) const;
    [[nodiscard]] bool made_by_translation(const clang::Diagnostic& info, std::size_t offset) const;

    const Prepared& prepared_;
    Report& report_;
    bool shown_ = true; ///< the last message; notes belong to it
};

} // namespace upcc
