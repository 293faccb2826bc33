#include "preprocess.hpp"

#include "clang_versions.hpp"

#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/DirectoryLookup.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

using namespace clang;

namespace upcc {

namespace {

class ThreadsCallbacks : public PPCallbacks {
public:
    ThreadsCallbacks(const Preprocessor& preprocessor, ThreadsMacro& threads)
        : preprocessor_{preprocessor}, threads_{threads} {}

    void MacroDefined(const Token& name, const MacroDirective*) override { define(name); }
    void MacroUndefined(const Token& name, const MacroDefinition&, const MacroDirective*) override { define(name); }
    void MacroExpands(const Token& name, const MacroDefinition&, SourceRange, const MacroArgs*) override {
        if (preprocessor_.isParsingIfOrElifDirective()) choose(name);
    }
    void Defined(const Token& name, const MacroDefinition&, SourceRange) override { choose(name); }
    void Ifdef(SourceLocation, const Token& name, const MacroDefinition&) override { choose(name); }
    void Ifndef(SourceLocation, const Token& name, const MacroDefinition&) override { choose(name); }
    using PPCallbacks::Elifdef;
    void Elifdef(SourceLocation, const Token& name, const MacroDefinition&) override { choose(name); }
    using PPCallbacks::Elifndef;
    void Elifndef(SourceLocation, const Token& name, const MacroDefinition&) override { choose(name); }

private:
    [[nodiscard]] static bool is_threads(const Token& name) {
        const IdentifierInfo* const identifier = name.getIdentifierInfo();
        return identifier != nullptr && identifier->getName() == "THREADS";
    }
    void define(const Token& name) { threads_.defined = threads_.defined || is_threads(name); }
    void choose(const Token& name) {
        threads_.chosen_by =
            threads_.chosen_by ||
            (is_threads(name) && !preprocessor_.getSourceManager().isInSystemHeader(name.getLocation()));
    }

    const Preprocessor& preprocessor_;
    ThreadsMacro& threads_;
};

class Printing : public PrintPreprocessedAction {
public:
    Printing(std::string own, ThreadsMacro* threads) : own_{std::move(own)}, threads_{threads} {}

protected:
    bool BeginSourceFileAction(CompilerInstance& compiler) override {
        Preprocessor& preprocessor = compiler.getPreprocessor();
        // Not by -idirafter: headers that are found there would be the system's, which the translator does not change.
        if (!own_.empty())
            if (const auto directory = compiler.getFileManager().getOptionalDirectoryRef(own_))
                preprocessor.getHeaderSearchInfo().AddSystemSearchPath(
                    DirectoryLookup{*directory, SrcMgr::C_User, false});
        if (threads_ != nullptr)
            preprocessor.addPPCallbacks(std::make_unique<ThreadsCallbacks>(preprocessor, *threads_));
        return PrintPreprocessedAction::BeginSourceFileAction(compiler);
    }

private:
    std::string own_;
    ThreadsMacro* threads_;
};

[[nodiscard]] bool print(const std::vector<std::string>& command, const std::string& to, const std::string& own,
                         ThreadsMacro* threads) {
    std::vector<const char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(word.c_str());
    words.push_back("-Qunused-arguments"); // such as the -fsyntax-only of createInvocation
    IgnoringDiagConsumer ignoring;
    DiagnosticConsumer* const shown = threads == nullptr ? nullptr : &ignoring; // null: one that the engine owns
    CreateInvocationOptions options;
    options.Diags = diagnostics_engine(shown, shown == nullptr);
    std::shared_ptr<CompilerInvocation> invocation = createInvocation(words, options);
    if (invocation == nullptr || options.Diags->hasErrorOccurred()) return false;
    invocation->getFrontendOpts().OutputFile = to;
    invocation->getFrontendOpts().DisableFree = false; // more sources may follow
    const std::unique_ptr<CompilerInstance> compiler = compiler_of(std::move(invocation));
    create_diagnostics(*compiler, shown, shown == nullptr);
    Printing action{own, threads};
    return compiler->ExecuteAction(action) && !compiler->getDiagnostics().hasErrorOccurred();
}

} // namespace

bool preprocess(const std::vector<std::string>& command, const std::string& to, const std::string& own) {
    return print(command, to, own, nullptr);
}

bool preprocess_quietly(const std::vector<std::string>& command, const std::string& to, const std::string& own,
                        ThreadsMacro& threads) {
    return print(command, to, own, &threads);
}

} // namespace upcc
