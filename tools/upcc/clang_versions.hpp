// What differs between Clang's versions, as each declares it.
#pragma once

#include "clang.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace upcc {

template <class Ids>
[[nodiscard]] bool is_note_of(const Ids& ids, unsigned id) {
    if constexpr (requires { ids.isNote(id); }) return ids.isNote(id);
    else return Ids::isBuiltinNote(id);
}
/// Of a message that is being reported.
[[nodiscard]] inline bool is_note(const clang::Diagnostic& info) {
    return is_note_of(*info.getDiags()->getDiagnosticIDs(), info.getID());
}
[[nodiscard]] inline bool is_error_by_default(const clang::Diagnostic& info) {
    return info.getDiags()->getDiagnosticIDs()->isDefaultMappingAsError(info.getID());
}

/// A trait of types that is true or false, as those of C are; newer versions also know traits with other values.
template <class Trait>
[[nodiscard]] bool is_true(const Trait& trait) {
    if constexpr (requires { trait.getBoolValue(); }) return trait.getBoolValue();
    else return trait.getValue();
}

/// An engine of its own; null: a consumer that it owns.
template <class Compiler = clang::CompilerInstance>
[[nodiscard]] llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine> diagnostics_engine(clang::DiagnosticConsumer* consumer,
                                                                                    bool owned) {
    static auto& options = *new clang::DiagnosticOptions; // which outlive all engines
    static const auto& real = *new auto{llvm::vfs::getRealFileSystem()};
    llvm::vfs::FileSystem& files = *real;
    if constexpr (requires { Compiler::createDiagnostics(files, options, consumer, owned); })
        return Compiler::createDiagnostics(files, options, consumer, owned);
    else if constexpr (requires { Compiler::createDiagnostics(files, new clang::DiagnosticOptions, consumer, owned); })
        return Compiler::createDiagnostics(files, new clang::DiagnosticOptions, consumer, owned);
    else return Compiler::createDiagnostics(new clang::DiagnosticOptions, consumer, owned);
}
/// The compiler's own one.
template <class Compiler>
void create_diagnostics(Compiler& compiler, clang::DiagnosticConsumer* consumer, bool owned) {
    if constexpr (requires { compiler.createDiagnostics(consumer, owned); })
        compiler.createDiagnostics(consumer, owned);
    else compiler.createDiagnostics(*llvm::vfs::getRealFileSystem(), consumer, owned);
}

template <class Compiler = clang::CompilerInstance>
[[nodiscard]] std::unique_ptr<Compiler> compiler_of(std::shared_ptr<clang::CompilerInvocation> invocation) {
    if constexpr (std::is_constructible_v<Compiler, std::shared_ptr<clang::CompilerInvocation>>) {
        return std::make_unique<Compiler>(std::move(invocation));
    } else {
        auto compiler = std::make_unique<Compiler>();
        compiler->setInvocation(std::move(invocation));
        return compiler;
    }
}

} // namespace upcc
