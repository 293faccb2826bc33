// Constraints of section 6.6: upc_forall, and the order of upc_notify and upc_wait where it can be checked.
#include "checks.hpp"
#include "forall.hpp"
#include "main_function.hpp"

#include <map>

using namespace clang;

namespace upcc {

void Checks::forall(const ForStmt* loop) {
    const Expr* const affinity = forall_affinity(loop);
    if (affinity == nullptr) return;
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
        error(jump->getBeginLoc(), leaves ? "goto leaves upc_forall: all threads must complete it"
                                          : "goto enters upc_forall: all threads must enter it together");
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

/// Whether it may notify or wait: it contains such a statement, or a call of a function that may contain one.
[[nodiscard]] bool may_synchronise(const Stmt* statement, const SourceManager& sources) {
    struct Finder : RecursiveASTVisitor<Finder> {
        const SourceManager* sources = nullptr;
        bool found = false;
        bool VisitCallExpr(CallExpr* call) {
            const FunctionDecl* const callee = call->getDirectCallee();
            const bool library = callee != nullptr &&
                                 (sources->isInSystemHeader(callee->getLocation()) || callee->getBuiltinID() != 0) &&
                                 barrier_name(call).empty();
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

} // namespace

void Checks::barriers(const FunctionDecl* function) {
    struct Blocks : RecursiveASTVisitor<Blocks> {
        std::vector<const CompoundStmt*> found;
        bool VisitCompoundStmt(CompoundStmt* block) {
            found.push_back(block);
            return true;
        }
    } blocks;
    blocks.TraverseStmt(function->getBody());
    for (const CompoundStmt* const block : blocks.found) {
        const bool is_main = function->isMain() || function->getName() == odd_main_name;
        Phase phase = block == function->getBody() && is_main ? Phase::outside : Phase::unknown;
        for (const Stmt* const statement : block->body()) {
            const StringRef name = barrier_name(statement);
            if (name == "notify") {
                if (phase == Phase::notified)
                    error(statement->getBeginLoc(), "upc_notify after upc_notify, without upc_wait between them");
                phase = Phase::notified;
            } else if (name == "wait") {
                if (phase == Phase::outside) error(statement->getBeginLoc(), "upc_wait without upc_notify before it");
                phase = Phase::outside;
            } else if (name == "barrier") {
                if (phase == Phase::notified)
                    error(statement->getBeginLoc(), "upc_barrier between upc_notify and upc_wait");
                phase = Phase::outside;
            } else if (name != "fence" && may_synchronise(statement, context_.getSourceManager())) {
                phase = Phase::unknown;
            }
        }
    }
}

} // namespace upcc
