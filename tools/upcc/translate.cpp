#include "translate.hpp"

#include "checks.hpp"
#include "clang.hpp"
#include "emit.hpp"
#include "messages.hpp"
#include "prepass.hpp"
#include "report.hpp"
#include "target.hpp"
#include "types.hpp"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <exception>
#include <iostream>

using namespace clang;

namespace upcc {

namespace {

/// The values of size operators, which depend on the layouts of types.
[[nodiscard]] SizeValues sizes_of(ASTContext& context, const Prepared& prepared, const Types& types) {
    struct Finder : RecursiveASTVisitor<Finder> {
        const Prepared* prepared = nullptr;
        const Types* types = nullptr;
        const SourceManager* sources = nullptr;
        SizeValues found;
        [[nodiscard]] std::size_t offset(SourceLocation location) const {
            return sources->getFileOffset(sources->getFileLoc(location));
        }
        bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr* size) {
            const std::size_t at = offset(size->getOperatorLoc());
            const auto kind = prepared->size_operators.find(at);
            const QualType type = size->getTypeOfArgument();
            if (kind == prepared->size_operators.end() || !Types::is_shared(type)) return true;
            if (const auto value = types->size(kind->second.kind, type))
                found[kind->second.source] = {*value, prepared->source_of(offset(size->getEndLoc()))};
            return true;
        }
    } finder;
    finder.prepared = &prepared;
    finder.types = &types;
    finder.sources = &context.getSourceManager();
    finder.TraverseDecl(context.getTranslationUnitDecl());
    return finder.found;
}

/// Whether a length of an array, or a block size, is a multiple of the number that THREADS is in this parse, without
/// THREADS in it.
[[nodiscard]] bool has_multiple_of_prime(ASTContext& context, const Prepared& prepared) {
    struct Finder : RecursiveASTVisitor<Finder> {
        const Prepared* prepared = nullptr;
        bool found = false;
        static bool may_depend_on_threads(const Expr* expression) {
            struct Names : RecursiveASTVisitor<Names> {
                bool found = false;
                bool VisitDeclRefExpr(DeclRefExpr* name) {
                    found = found || name->getDecl()->getName() == "THREADS";
                    return true;
                }
                bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr*) { return found = true; }
            } names;
            names.TraverseStmt(const_cast<Expr*>(expression));
            return names.found;
        }
        bool VisitArrayTypeLoc(ArrayTypeLoc array) {
            const auto* const type = dyn_cast<ConstantArrayType>(array.getTypePtr());
            found = found || (type != nullptr && array.getSizeExpr() != nullptr &&
                              prepared->times_threads(type->getSize().getZExtValue()) &&
                              !may_depend_on_threads(array.getSizeExpr()));
            return !found;
        }
        bool VisitEnumConstantDecl(EnumConstantDecl* value) {
            found = found || (Types::layout_of_constant(value) && !value->getInitVal().isNegative() &&
                              value->getInitVal().getActiveBits() < 64 && value->getInitExpr() != nullptr &&
                              prepared->times_threads(value->getInitVal().getZExtValue()) &&
                              !may_depend_on_threads(value->getInitExpr()));
            return !found;
        }
    } finder;
    finder.prepared = &prepared;
    if (prepared.threads == 0) finder.TraverseDecl(context.getTranslationUnitDecl());
    return finder.found;
}

/// What comes of a parse.
struct Outcome {
    SizeValues sizes;         ///< found by a parse that looks for them alone
    bool other_prime = false; ///< the program has a multiple of the number that THREADS was
    std::string text;
};

/// Processes a program once it is parsed.
class Consumer : public ASTConsumer {
public:
    /// Without a report: looks for sizes.
    Consumer(const Prepared& prepared, Report* report, const Translation& translation, Outcome& outcome)
        : prepared_{prepared}, report_{report}, translation_{translation}, outcome_{outcome} {}

    void HandleTranslationUnit(ASTContext& context) override {
        Types types{context, prepared_};
        types.find_blocks();
        if (report_ == nullptr) {
            outcome_.sizes = sizes_of(context, prepared_, types);
            return;
        }
        outcome_.other_prime = has_multiple_of_prime(context, prepared_);
        if (outcome_.other_prime || context.getDiagnostics().hasUncompilableErrorOccurred() || report_->errors() > 0)
            return;
        check(context, prepared_, types, *report_, translation_.threads);
        if (report_->errors() > 0) return;
        Emitter emitter{
            context, prepared_, types, *report_, translation_.threads, translation_.file, translation_.optimisations};
        outcome_.text = emitter.translation_unit();
    }

private:
    const Prepared& prepared_;
    Report* report_;
    const Translation& translation_;
    Outcome& outcome_;
};

class Action : public ASTFrontendAction {
public:
    Action(const Prepared& prepared, Report* report, const Translation& translation, Outcome& outcome)
        : prepared_{prepared}, report_{report}, translation_{translation}, outcome_{outcome} {}

    bool BeginInvocation(CompilerInstance& compiler) override {
        set_size_of_pointers(compiler);
        return true;
    }
    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance&, StringRef) override {
        return std::make_unique<Consumer>(prepared_, report_, translation_, outcome_);
    }

private:
    const Prepared& prepared_;
    Report* report_;
    const Translation& translation_;
    Outcome& outcome_;
};

[[nodiscard]] std::vector<std::string> parser_options(const Translation& translation) {
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
    options.insert(options.end(), translation.parser_options.begin(), translation.parser_options.end());
    // Caused by the translator itself, also with -Wall.
    for (const char* const ours :
         {"ignored-attributes", "unknown-pragmas", "unused-value", "unused-comparison", "comma",
          "deprecated-non-prototype", "pointer-to-int-cast", "int-to-pointer-cast", "gnu-line-marker"})
        options.push_back(std::string{"-Wno-"} + ours);
    options.push_back("program.i");
    return options;
}

/// One parse; whether it found no errors, without those that are warnings but for -Werror: some are not shown.
[[nodiscard]] bool parse(const Translation& translation, const Prepared& prepared, Report* report,
                         DiagnosticConsumer& messages, Outcome& outcome) {
    const std::vector<std::string> options = parser_options(translation);
    std::vector<const char*> arguments;
    arguments.reserve(options.size());
    for (const std::string& option : options) arguments.push_back(option.c_str());
    CompilerInstance compiler;
    DiagnosticsEngine of_options{new DiagnosticIDs, new DiagnosticOptions, &messages, false};
    if (!CompilerInvocation::CreateFromArgs(compiler.getInvocation(), arguments, of_options)) return false;
    compiler.getDiagnosticOpts().ShowCarets = false; // no count of errors at the end
    compiler.createDiagnostics(&messages, false);
    compiler.getPreprocessorOpts().addRemappedFile(
        "program.i", llvm::MemoryBuffer::getMemBuffer(prepared.text, "program.i").release());
    Action action{prepared, report, translation, outcome};
    compiler.ExecuteAction(action);
    return !compiler.getDiagnostics().hasUncompilableErrorOccurred();
}

/// The values of size operators: those of one layout may depend on another's, so that it takes several parses to know
/// all.
[[nodiscard]] SizeValues find_sizes(const Translation& translation, const Parse& first) {
    constexpr int most_parses = 4;
    Parse with = first;
    with.finds_sizes = true;
    for (int k = 0; k < most_parses; ++k) {
        const Prepared prepared = prepare(translation.preprocessed, with);
        if (prepared.size_operators.empty()) break;
        IgnoringDiagConsumer nothing;
        Outcome outcome;
        static_cast<void>(parse(translation, prepared, nullptr, nothing, outcome));
        if (outcome.sizes == with.sizes) break;
        with.sizes = outcome.sizes;
        if (!prepared.has_early_sizes) break;
    }
    return with.sizes;
}

std::optional<std::string> translate_here(const Translation& translation) {
    const Positions positions{translation.preprocessed};
    Report report{positions};
    Parse with{translation.prelude, translation.threads, prime_for_threads(translation.preprocessed), {}};
    for (std::size_t tries = 0; tries < primes_for_threads.size(); ++tries) {
        const Prepared plain = prepare(translation.preprocessed, with);
        report.of(plain);
        for (const Problem& problem : plain.problems)
            report.add_at_source(Report::Kind::error, problem.source, problem.text);
        if (report.errors() > 0) return std::nullopt;
        if (!plain.size_operators.empty()) with.sizes = find_sizes(translation, with);
        const Prepared prepared = with.sizes.empty() ? plain : prepare(translation.preprocessed, with);
        report.of(prepared);
        Messages messages{prepared, report};
        Outcome outcome;
        const bool good = parse(translation, prepared, &report, messages, outcome) && report.errors() == 0;
        if (!good) return std::nullopt;
        if (!outcome.other_prime) return outcome.text;
        const auto* const prime = std::find(primes_for_threads.begin(), primes_for_threads.end(), with.any_threads);
        with.any_threads = prime + 1 < primes_for_threads.end() ? prime[1] : primes_for_threads[0];
        with.sizes.clear();
    }
    std::cerr << "lapwing-upcc: " << translation.file
              << ": with any number of threads, array lengths that are multiples of " << primes_for_threads[0] << ", "
              << primes_for_threads[1] << " and " << primes_for_threads[2]
              << " cannot be in one file; compile for a fixed number (-T)\n";
    return std::nullopt;
}

} // namespace

std::optional<std::string> translate(const Translation& translation) {
    constexpr unsigned stack_bytes = 256U << 20; // Clang and the visitors recurse with the depth of expressions
    std::optional<std::string> text;
    std::exception_ptr failure;
    llvm::CrashRecoveryContext::Enable();
    llvm::CrashRecoveryContext context;
    const bool ended = context.RunSafelyOnThread(
        [&] {
            try {
                text = translate_here(translation);
            } catch (...) {
                failure = std::current_exception();
            }
        },
        stack_bytes);
    llvm::CrashRecoveryContext::Disable();
    if (failure != nullptr) std::rethrow_exception(failure);
    if (ended) return text;
    std::cerr << "lapwing-upcc: " << translation.file
              << ": the translator has crashed, which is an error in lapwing-upcc; please report it with what "
                 "--save-temps keeps\n";
    return std::nullopt;
}

} // namespace upcc
