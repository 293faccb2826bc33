#include "translate.hpp"

#include "checks.hpp"
#include "clang_versions.hpp"
#include "emit.hpp"
#include "messages.hpp"
#include "prepass.hpp"
#include "report.hpp"
#include "target.hpp"
#include "types.hpp"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/Support/CrashRecoveryContext.h>
#if __has_include(<llvm/TargetParser/Host.h>)
#include <llvm/TargetParser/Host.h>
#else
#include <llvm/Support/Host.h> // Clang 15
#endif

#include <algorithm>
#include <exception>
#include <functional>
#include <iostream>
#include <set>
#include <string_view>
#include <utility>

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
        std::set<const TagDecl*> in_types;
        // A structure that is defined inside an expression.
        bool VisitTagTypeLoc(TagTypeLoc type) {
            return !type.isDefinition() || !in_types.insert(type.getDecl()).second || TraverseDecl(type.getDecl());
        }
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

/// What is to be done with a program once it is parsed.
using Visit = std::function<void(ASTContext&)>;

class Consumer : public ASTConsumer {
public:
    explicit Consumer(const Visit& visit) : visit_{visit} {}
    void HandleTranslationUnit(ASTContext& context) override { visit_(context); }

private:
    const Visit& visit_;
};

class Action : public ASTFrontendAction {
public:
    explicit Action(const Visit& visit) : visit_{visit} {}

    bool BeginInvocation(CompilerInstance& compiler) override {
        set_size_of_pointers(compiler);
        return true;
    }
    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance&, StringRef) override {
        return std::make_unique<Consumer>(visit_);
    }

private:
    const Visit& visit_;
};

/// -Werror, unless it is taken back, or -pedantic-errors.
[[nodiscard]] bool wants_errors(const std::vector<std::string>& options) {
    bool errors = false, pedantic = false;
    for (const std::string& option : options) {
        if (option == "-Werror" || option == "-Wno-error") errors = option == "-Werror";
        pedantic = pedantic || option == "-pedantic-errors";
    }
    return errors || pedantic;
}

[[nodiscard]] std::vector<std::string> parser_options(const Translation& translation) {
    std::vector<std::string> options{"-triple",       llvm::sys::getDefaultTargetTriple(),
                                     "-fsyntax-only", "-x",
                                     "cpp-output",    "-std=gnu11",
                                     "-ferror-limit", "0"};
    // Clang 16's suggestions for misspelt names would include the translator's, and some crash where address spaces
    // differ.
    options.emplace_back("-fno-spell-checking");
    // C before 1999, which some programs still use: warned about, not refused.
    if (!wants_errors(translation.parser_options))
        for (const char* const old :
             {"implicit-function-declaration", "implicit-int", "int-conversion", "incompatible-function-pointer-types"})
            options.push_back(std::string{"-Wno-error="} + old);
    // The translated source is not standard C: as errors, the warnings of -pedantic would be about that.
    for (const std::string& option : translation.parser_options)
        options.push_back(option == "-pedantic-errors" ? "-pedantic" : option);
    // Caused by the translator itself, also with -Wall.
    for (const char* const ours :
         {"ignored-attributes", "unknown-pragmas", "unused-value", "unused-comparison", "comma",
          "deprecated-non-prototype", "pointer-to-int-cast", "int-to-pointer-cast", "gnu-line-marker"})
        options.push_back(std::string{"-Wno-"} + ours);
    options.push_back("program.i");
    return options;
}

/// One parse; whether it found no errors, without those that are warnings but for -Werror: some are not shown.
[[nodiscard]] bool parse(const Translation& translation, const Prepared& prepared, DiagnosticConsumer& messages,
                         const Visit& visit) {
    const std::vector<std::string> options = parser_options(translation);
    std::vector<const char*> arguments;
    arguments.reserve(options.size());
    for (const std::string& option : options) arguments.push_back(option.c_str());
    CompilerInstance compiler;
    const auto of_options = diagnostics_engine(&messages, false);
    if (!CompilerInvocation::CreateFromArgs(compiler.getInvocation(), arguments, *of_options)) return false;
    compiler.getDiagnosticOpts().ShowCarets = false; // no count of errors at the end
    create_diagnostics(compiler, &messages, false);
    compiler.getPreprocessorOpts().addRemappedFile(
        "program.i", llvm::MemoryBuffer::getMemBuffer(prepared.text, "program.i").release());
    Action action{visit};
    compiler.ExecuteAction(action);
    return !compiler.getDiagnostics().hasUncompilableErrorOccurred();
}

/// The values of size operators: those of one layout may depend on another's, so that it takes several parses to know
/// all.
[[nodiscard]] SizeValues find_sizes(const Translation& translation, const Parse& first) {
    constexpr int most_parses = 32;
    Parse with = first;
    with.finds_sizes = true;
    for (int k = 0; k < most_parses; ++k) {
        const Prepared prepared = prepare(translation.preprocessed, with);
        if (prepared.size_operators.empty()) break;
        IgnoringDiagConsumer nothing;
        SizeValues sizes;
        static_cast<void>(parse(translation, prepared, nothing, [&](ASTContext& context) {
            Types types{context, prepared};
            types.find_blocks();
            sizes = sizes_of(context, prepared, types);
        }));
        // What a value made an error is not found again: it stays, unless another parse, without the error, finds
        // another value.
        std::set<std::size_t> lost;
        for (const auto& [operator_at, value] : with.sizes) {
            const auto found = sizes.emplace(operator_at, value);
            const bool stays = with.lost_sizes.contains(operator_at) && found.first->second == value;
            if (found.second || stays) lost.insert(operator_at);
        }
        if (sizes == with.sizes && lost == with.lost_sizes) break;
        with.sizes = std::move(sizes);
        with.lost_sizes = std::move(lost);
        if (!prepared.has_early_sizes) break;
    }
    return with.sizes;
}

/// A program once it is parsed.
struct Outcome {
    bool other_prime = false; ///< it has a multiple of the number that THREADS was
    std::string text;         ///< in C
};

void check_and_emit(ASTContext& context, const Prepared& prepared, Report& report, const Translation& translation,
                    Outcome& outcome) {
    Types types{context, prepared};
    types.find_blocks();
    const auto check_all = [&] { check(context, prepared, types, report, translation.threads); };
    if (context.getDiagnostics().hasUncompilableErrorOccurred()) {
        // UPC's errors as well, of what is right for Clang; its tree of the rest may be anything.
        llvm::CrashRecoveryContext guard;
        static_cast<void>(guard.RunSafely(check_all));
        return;
    }
    outcome.other_prime = has_multiple_of_prime(context, prepared);
    if (outcome.other_prime || report.errors() > 0) return;
    check_all();
    if (report.errors() > 0) return;
    Emitter emitter{context, prepared, types, report, translation.threads, translation.file, translation.optimisations};
    outcome.text = emitter.translation_unit();
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
        const bool parsed = parse(translation, prepared, messages, [&](ASTContext& context) {
            check_and_emit(context, prepared, report, translation, outcome);
        });
        if (!parsed || report.errors() > 0) return std::nullopt;
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

/// Whether functions are in the place of pointers-to-shared, at which Clang 16 crashes instead of reporting them: the
/// program is parsed again, with private pointers in the place of all.
bool reports_functions(const Translation& translation) {
    const Positions positions{translation.preprocessed};
    Report report{positions};
    Prepared prepared =
        prepare(translation.preprocessed,
                {translation.prelude, translation.threads, prime_for_threads(translation.preprocessed), {}});
    report.of(prepared);
    constexpr std::string_view shared = "address_space(1),";
    for (std::size_t at = 0; (at = prepared.text.find(shared, at)) != std::string::npos;)
        prepared.text.replace(at, shared.size(), std::string(shared.size(), ' '));
    IgnoringDiagConsumer nothing;
    static_cast<void>(parse(translation, prepared, nothing,
                            [&](ASTContext& context) { check_functions(context, prepared, report); }));
    return report.errors() > 0;
}

/// Whether it ends without a crash.
bool run_safely(const std::function<void()>& step) {
    constexpr unsigned stack_bytes = 256U << 20; // Clang and the visitors recurse with the depth of expressions
    std::exception_ptr failure;
    llvm::CrashRecoveryContext context;
    const bool ended = context.RunSafelyOnThread(
        [&] {
            try {
                step();
            } catch (...) {
                failure = std::current_exception();
            }
        },
        stack_bytes);
    if (failure != nullptr) std::rethrow_exception(failure);
    return ended;
}

} // namespace

std::optional<std::string> translate(const Translation& translation) {
    std::optional<std::string> text;
    bool reported = false;
    llvm::CrashRecoveryContext::Enable();
    const auto disable = llvm::make_scope_exit([] { llvm::CrashRecoveryContext::Disable(); });
    const bool ended = run_safely([&] { text = translate_here(translation); });
    if (!ended) static_cast<void>(run_safely([&] { reported = reports_functions(translation); }));
    if (ended || reported) return text;
    std::cerr << "lapwing-upcc: " << translation.file
              << ": the translator has crashed, which is an error in lapwing-upcc; please report it with what "
                 "--save-temps keeps\n";
    return std::nullopt;
}

} // namespace upcc
