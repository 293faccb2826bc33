#include "translate.hpp"

#include "checks.hpp"
#include "clang.hpp"
#include "emit.hpp"
#include "messages.hpp"
#include "prepass.hpp"
#include "report.hpp"
#include "target.hpp"
#include "types.hpp"

#include <llvm/TargetParser/Host.h>

using namespace clang;

namespace upcc {

namespace {

/// Processes a program once it is parsed.
class Consumer : public ASTConsumer {
public:
    Consumer(const Prepared& prepared, Report& report, const Translation& translation, std::string& result)
        : prepared_{prepared}, report_{report}, translation_{translation}, result_{result} {}

    void HandleTranslationUnit(ASTContext& context) override {
        if (context.getDiagnostics().hasErrorOccurred() || report_.errors() > 0) return;
        Types types{context, prepared_};
        check(context, prepared_, types, report_, translation_.threads);
        if (report_.errors() > 0) return;
        result_ =
            Emitter{
                context, prepared_, types, report_, translation_.threads, translation_.file, translation_.optimisations}
                .translation_unit();
    }

private:
    const Prepared& prepared_;
    Report& report_;
    const Translation& translation_;
    std::string& result_;
};

class Action : public ASTFrontendAction {
public:
    Action(const Prepared& prepared, Report& report, const Translation& translation, std::string& result)
        : prepared_{prepared}, report_{report}, translation_{translation}, result_{result} {}

    bool BeginInvocation(CompilerInstance& compiler) override {
        set_size_of_pointers(compiler);
        return true;
    }
    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance&, StringRef) override {
        return std::make_unique<Consumer>(prepared_, report_, translation_, result_);
    }

private:
    const Prepared& prepared_;
    Report& report_;
    const Translation& translation_;
    std::string& result_;
};

} // namespace

std::optional<std::string> translate(const Translation& translation) {
    const Positions positions{translation.preprocessed};
    const Prepared prepared = prepare(translation.preprocessed, translation.prelude, translation.threads);
    Report report{positions, prepared};
    for (const Problem& problem : prepared.problems)
        report.add_at_source(Report::Kind::error, problem.source, problem.text);
    if (report.errors() > 0) return std::nullopt;

    Messages messages{prepared, report};
    std::vector<std::string> options{"-triple",       llvm::sys::getDefaultTargetTriple(),
                                     "-fsyntax-only", "-x",
                                     "cpp-output",    "-std=gnu11",
                                     "-ferror-limit", "0"};
    // Clang 16's suggestions for misspelt names would include the translator's, and some crash where address spaces
    // differ.
    options.emplace_back("-fno-spell-checking");
    // C before 1999, which some programs still use: warned about, not refused.
    for (const char* const old : {"implicit-function-declaration", "implicit-int", "int-conversion",
                                  "incompatible-function-pointer-types", "return-type"})
        options.push_back(std::string{"-Wno-error="} + old);
    // Caused by the translator itself.
    for (const char* const ours : {"ignored-attributes", "unknown-pragmas", "unused-value", "unused-comparison",
                                   "comma", "deprecated-non-prototype", "pointer-to-int-cast", "int-to-pointer-cast"})
        options.push_back(std::string{"-Wno-"} + ours);
    options.insert(options.end(), translation.parser_options.begin(), translation.parser_options.end());
    options.push_back("program.i");
    std::vector<const char*> arguments;
    for (const std::string& option : options) arguments.push_back(option.c_str());

    CompilerInstance compiler;
    DiagnosticsEngine of_options{new DiagnosticIDs, new DiagnosticOptions, &messages, false};
    if (!CompilerInvocation::CreateFromArgs(compiler.getInvocation(), arguments, of_options)) return std::nullopt;
    compiler.getDiagnosticOpts().ShowCarets = false; // no count of errors at the end
    compiler.createDiagnostics(&messages, false);
    compiler.getPreprocessorOpts().addRemappedFile(
        "program.i", llvm::MemoryBuffer::getMemBuffer(prepared.text, "program.i").release());
    std::string result;
    Action action{prepared, report, translation, result};
    compiler.ExecuteAction(action);
    if (report.errors() > 0 || compiler.getDiagnostics().hasErrorOccurred()) return std::nullopt;
    return result;
}

} // namespace upcc
