// Constraints of section 6.6: upc_forall, and the order of upc_notify and upc_wait where it can be checked.
#include "checks.hpp"
#include "forall.hpp"
#include "main_function.hpp"

#include <functional>
#include <map>
#include <utility>
#include <vector>

using namespace clang;

namespace upcc {

void Checks::forall(const ForStmt* loop) {
    const Expr* const affinity = forall_affinity(loop);
    if (affinity == nullptr || affinity->containsErrors()) return;
    const QualType t = affinity->getType();
    if (Types::points_to_shared(t) || t->isIntegerType() || (t->isArrayType() && Types::is_shared(t))) return;
    error(affinity->getBeginLoc(),
          "the affinity of upc_forall must be an integer or a pointer-to-shared, and is '" + types_.in_upc(t) + "'");
}

namespace {

/// Labels, and jumps to them, with the upc_forall that they are in.
class Jumps : public RecursiveASTVisitor<Jumps> {
public:
    std::map<const LabelDecl*, const ForStmt*> labels;
    std::vector<std::pair<const GotoStmt*, const ForStmt*>> jumps;
    std::map<const ForStmt*, const ForStmt*> around;
    std::vector<const SwitchCase*> cases; ///< in another upc_forall than their switch
    std::vector<const AddrLabelExpr*> addresses;

    bool TraverseForStmt(ForStmt* loop) {
        const ForStmt* const outer = inside_;
        if (is_forall(loop)) {
            around[loop] = outer;
            inside_ = loop;
        }
        const bool go_on = RecursiveASTVisitor::TraverseForStmt(loop);
        inside_ = outer;
        return go_on;
    }
    bool TraverseSwitchStmt(SwitchStmt* choice) {
        const ForStmt* const outer = of_switch_;
        of_switch_ = inside_;
        const bool go_on = RecursiveASTVisitor::TraverseSwitchStmt(choice);
        of_switch_ = outer;
        return go_on;
    }
    bool VisitSwitchCase(SwitchCase* label) {
        if (inside_ != of_switch_) cases.push_back(label);
        return true;
    }
    bool VisitAddrLabelExpr(AddrLabelExpr* address) {
        addresses.push_back(address);
        return true;
    }
    bool VisitLabelStmt(LabelStmt* label) {
        labels[label->getDecl()] = inside_;
        return true;
    }
    bool VisitGotoStmt(GotoStmt* jump) {
        jumps.emplace_back(jump, inside_);
        return true;
    }

private:
    const ForStmt* inside_ = nullptr;
    const ForStmt* of_switch_ = nullptr;
};

} // namespace

void Checks::jumps(const FunctionDecl* function) {
    Jumps found;
    found.TraverseStmt(function->getBody());
    for (const SwitchCase* const label : found.cases)
        error(label->getBeginLoc(), "switch enters upc_forall here: all threads must enter it together");
    for (const AddrLabelExpr* const address : found.addresses)
        if (const auto label = found.labels.find(address->getLabel());
            label != found.labels.end() && label->second != nullptr)
            error(address->getBeginLoc(),
                  "a goto to this label would enter upc_forall: all threads must enter it together");
    for (const auto& [jump, from] : found.jumps) {
        const auto label = found.labels.find(jump->getLabel());
        if (label == found.labels.end() || label->second == from) continue;
        bool leaves = label->second == nullptr;
        for (const ForStmt* outer = from; outer != nullptr; outer = found.around[outer])
            leaves = leaves || outer == label->second;
        // Which is undefined where it happens, as with break and return, and no constraint.
        if (!leaves) error(jump->getBeginLoc(), "goto enters upc_forall: all threads must enter it together");
    }
}

/// Operands are registers and private memory.
void Checks::assembler(const GCCAsmStmt* code) {
    const auto operand = [&](const Expr* value) {
        if (value->isGLValue() && Types::is_shared(value->getType()))
            error(value->getExprLoc(), "a shared object cannot be an operand that instructions store to, or find in "
                                       "memory; use a private variable");
    };
    for (unsigned k = 0; k < code->getNumOutputs(); ++k) operand(code->getOutputExpr(k));
    for (unsigned k = 0; k < code->getNumInputs(); ++k) operand(code->getInputExpr(k));
}

namespace {

enum class Phase { unknown, outside, notified };

[[nodiscard]] StringRef barrier_name(const Stmt* statement) {
    const auto* const call = dyn_cast<CallExpr>(statement);
    const FunctionDecl* const callee = call == nullptr ? nullptr : call->getDirectCallee();
    StringRef name = callee == nullptr ? StringRef{} : callee->getName();
    return name.consume_front("lapwing_upcc_") ? name.drop_back(1) : StringRef{};
}

/// Whether it may notify or wait, or not end: it contains such a statement, or a call of a function that may contain
/// one.
[[nodiscard]] bool may_synchronise(const Stmt* statement, const SourceManager& sources) {
    struct Finder : RecursiveASTVisitor<Finder> {
        const SourceManager* sources = nullptr;
        bool found = false;
        bool VisitCallExpr(CallExpr* call) {
            const FunctionDecl* const callee = call->getDirectCallee();
            const bool library = callee != nullptr &&
                                 (sources->isInSystemHeader(callee->getLocation()) || callee->getBuiltinID() != 0) &&
                                 barrier_name(call).empty() && !callee->isNoReturn();
            found = found || !library;
            return !found;
        }
        bool VisitLabelStmt(LabelStmt*) { return !(found = true); }
        bool VisitReturnStmt(ReturnStmt*) { return true; }
    } finder;
    finder.sources = &sources;
    finder.TraverseStmt(const_cast<Stmt*>(statement));
    return finder.found;
}

/// Follows upc_notify, upc_wait and upc_barrier through a function, as far as their order does not depend on values.
class Order {
public:
    using Error = std::function<void(const Stmt*, const char*)>;
    Order(const SourceManager& sources, bool is_main, Error error)
        : sources_{sources}, is_main_{is_main}, error_{std::move(error)} {}

    /// The phase after a statement that is executed in the given one.
    [[nodiscard]] Phase phase_after(const Stmt* statement, Phase phase) {
        if (statement == nullptr) return phase;
        if (const auto* const block = dyn_cast<CompoundStmt>(statement)) {
            for (const Stmt* const one : block->body()) phase = phase_after(one, phase);
            return phase;
        }
        if (const auto* const choice = dyn_cast<IfStmt>(statement)) {
            Phase start = of_value(choice->getCond(), phase);
            if (!may_synchronise(choice, sources_)) return start;
            if (first_iteration_) start = Phase::unknown; // it may be taken in later ones only
            const Phase taken = phase_within(choice->getThen(), start, first_iteration_);
            const Phase other = phase_within(choice->getElse(), start, first_iteration_);
            return taken == other ? taken : Phase::unknown;
        }
        if (const StringRef name = barrier_name(statement); !name.empty()) return at(statement, name, phase);
        if (const auto* const result = dyn_cast<ReturnStmt>(statement)) {
            phase = of_value(result->getRetValue(), phase);
            end(statement, phase);
            return Phase::unknown;
        }
        if (isa<GotoStmt, IndirectGotoStmt, BreakStmt, ContinueStmt>(statement)) return Phase::unknown;
        if (const auto* const label = dyn_cast<LabelStmt>(statement))
            return phase_after(label->getSubStmt(), Phase::unknown);
        if (const auto* const label = dyn_cast<SwitchCase>(statement))
            return phase_after(label->getSubStmt(), Phase::unknown);
        if (const Stmt* const body = body_of(statement)) {
            // What it does the first time, unless an outer loop may come here in later iterations only.
            const bool runs = !first_iteration_ && !isa<SwitchStmt>(statement) && !synchronises_before(statement);
            static_cast<void>(phase_within(body, runs ? phase : Phase::unknown, true));
            return may_synchronise(statement, sources_) ? Phase::unknown : phase;
        }
        return of_value(statement, phase);
    }
    /// Of main: every upc_notify has its upc_wait.
    void end(const Stmt* statement, Phase phase) const {
        if (is_main_ && phase == Phase::notified) error_(statement, "main ends between upc_notify and upc_wait");
    }

private:
    /// After a branch or a body; what is known of the iteration there ends with it.
    [[nodiscard]] Phase phase_within(const Stmt* statement, Phase phase, bool first_iteration) {
        const bool outer = std::exchange(first_iteration_, first_iteration);
        const Phase after = phase_after(statement, phase);
        first_iteration_ = outer;
        return after;
    }
    [[nodiscard]] Phase at(const Stmt* statement, StringRef name, Phase phase) {
        if (name != "fence") first_iteration_ = false;
        if (name == "notify") {
            if (phase == Phase::notified)
                error_(statement, "upc_notify after upc_notify, without upc_wait between them");
            return Phase::notified;
        }
        if (name == "wait" && phase == Phase::outside) error_(statement, "upc_wait without upc_notify before it");
        if (name == "barrier" && phase == Phase::notified)
            error_(statement, "upc_barrier between upc_notify and upc_wait");
        return name == "fence" ? phase : Phase::outside;
    }
    /// After an expression or a declaration, with the statements in it.
    [[nodiscard]] Phase of_value(const Stmt* statement, Phase phase) {
        if (statement == nullptr || !may_synchronise(statement, sources_)) return phase;
        struct Blocks : RecursiveASTVisitor<Blocks> {
            std::vector<const CompoundStmt*> found;
            bool TraverseStmtExpr(StmtExpr* block) {
                found.push_back(block->getSubStmt());
                return true;
            }
        } blocks;
        blocks.TraverseStmt(const_cast<Stmt*>(statement));
        for (const CompoundStmt* const block : blocks.found) static_cast<void>(phase_after(block, Phase::unknown));
        return Phase::unknown;
    }
    /// The statement in a loop or a switch.
    [[nodiscard]] static const Stmt* body_of(const Stmt* statement) {
        if (const auto* const loop = dyn_cast<ForStmt>(statement)) return loop->getBody();
        if (const auto* const loop = dyn_cast<WhileStmt>(statement)) return loop->getBody();
        if (const auto* const loop = dyn_cast<DoStmt>(statement)) return loop->getBody();
        if (const auto* const choice = dyn_cast<SwitchStmt>(statement)) return choice->getBody();
        return nullptr;
    }
    /// Whether the first expressions of a loop may.
    [[nodiscard]] bool synchronises_before(const Stmt* statement) const {
        const Stmt *start = nullptr, *condition = nullptr;
        if (const auto* const loop = dyn_cast<ForStmt>(statement)) {
            start = loop->getInit();
            condition = loop->getCond();
        } else if (const auto* const loop = dyn_cast<WhileStmt>(statement)) {
            condition = loop->getCond();
        }
        return (start != nullptr && may_synchronise(start, sources_)) ||
               (condition != nullptr && may_synchronise(condition, sources_));
    }

    const SourceManager& sources_;
    bool is_main_;
    bool first_iteration_ = false; ///< the phase is that of a loop's first iteration
    Error error_;
};

} // namespace

void Checks::barriers(const FunctionDecl* function) {
    const bool is_main = function->isMain() || function->getName() == odd_main_name;
    Order order{context_.getSourceManager(), is_main,
                [&](const Stmt* statement, const char* text) { error(statement->getBeginLoc(), text); }};
    const auto* const body = llvm::cast<CompoundStmt>(function->getBody());
    const Phase last = order.phase_after(body, is_main ? Phase::outside : Phase::unknown);
    if (!body->body_empty()) order.end(body->body_back(), last);
}

} // namespace upcc
