// GNU C's functions in functions, as static functions in front of the one that they are in. Through the frame, which is
// filled where they are defined and restored at the end of that block, they reach the variables around them.
#include "emit.hpp"
#include "nested_functions.hpp"

#include <algorithm>
#include <utility>

using namespace clang;

namespace upcc {

namespace {

/// The variables of the function around it that a nested function uses, and whether it uses types of that as well.
class Captured : public RecursiveASTVisitor<Captured> {
public:
    std::vector<const VarDecl*> variables;
    std::set<const Decl*> own;
    std::vector<const GotoStmt*> jumps;
    bool uses_types = false;

    bool VisitDecl(Decl* declaration) {
        own.insert(declaration);
        return true;
    }
    bool VisitLabelStmt(LabelStmt* label) {
        own.insert(label->getDecl());
        return true;
    }
    bool VisitGotoStmt(GotoStmt* jump) {
        jumps.push_back(jump);
        return true;
    }
    bool VisitDeclRefExpr(DeclRefExpr* name) {
        const ValueDecl* const one = name->getDecl();
        if (own.contains(one) || one->getParentFunctionOrMethod() == nullptr) return true;
        if (isa<EnumConstantDecl>(one)) uses_types = true;
        const auto* const variable = dyn_cast<VarDecl>(one);
        if (variable == nullptr || Types::is_shared(variable->getType())) return true;
        if (!variable->hasLocalStorage() && !variable->isStaticLocal()) return true;
        if (variable->getName().starts_with(result_prefix)) return true;
        if (std::find(variables.begin(), variables.end(), variable) == variables.end()) variables.push_back(variable);
        return true;
    }
};

} // namespace

/// Null where the statement is none.
const FunctionDecl* Emitter::nested_function(const Stmt* statement) {
    const auto* const marked = dyn_cast<IfStmt>(statement);
    const auto* const call = marked == nullptr ? nullptr : dyn_cast<CallExpr>(marked->getCond()->IgnoreParenImpCasts());
    const FunctionDecl* const callee = call == nullptr ? nullptr : call->getDirectCallee();
    if (callee == nullptr || callee->getName() != nested_marker) return nullptr;
    return cast<FunctionDecl>(cast<DeclRefExpr>(call->getArg(0)->IgnoreParenImpCasts())->getDecl());
}

/// How a nested function reaches the variables around it: by pointers to them in a frame of its own.
struct Emitter::Frame {
    std::string name;
    std::map<const VarDecl*, std::string> places; ///< the variables, as its body names them
    std::string fill;                             ///< statements, where it is defined
};

Emitter::Frame Emitter::frame_of(const IfStmt* definition) {
    Captured captured;
    captured.TraverseStmt(const_cast<Stmt*>(definition->getThen()));
    Frame out;
    out.name = "lapwing_frame_" + std::to_string(offset(definition->getBeginLoc()));
    for (const VarDecl* const variable : captured.variables) {
        const std::string name = variable->getName().str();
        if (variable->getType()->isVariablyModifiedType()) {
            error(definition->getBeginLoc(), "a function in another one cannot use '" + name +
                                                 "' of that one, whose length is a variable's; pass it as an argument");
            continue;
        }
        const std::string place = out.name + ".p[" + std::to_string(out.places.size()) + "]";
        const auto around = captured_.find(variable);
        out.fill += " " + place + " = (void*)&" + (around == captured_.end() ? name : around->second) + ";";
        out.places.emplace(variable, "(*(" + type(context_.getPointerType(variable->getType())) + ")" + place + ")");
        const TagDecl* const tag = types_.element(variable->getType())->getAsTagDecl();
        captured.uses_types = captured.uses_types || (tag != nullptr && tag->getParentFunctionOrMethod() != nullptr);
    }
    if (captured.uses_types)
        error(definition->getBeginLoc(), "a function in another one cannot use types and enumeration constants that "
                                         "the other one declares; declare them at file scope");
    for (const GotoStmt* const jump : captured.jumps)
        if (!captured.own.contains(jump->getLabel()))
            error(jump->getBeginLoc(), "a function in another one cannot jump out of itself; return a value instead");
    return out;
}

/// The body of a nested function, as if it were not in another one.
std::string Emitter::as_at_file_scope(const Stmt* body, std::map<const VarDecl*, std::string> captured) {
    std::swap(captured_, captured);
    const auto* const outer = std::exchange(function_, nullptr);
    const int foralls = std::exchange(foralls_, 0);
    const auto own_loop = std::exchange(own_loop_, std::nullopt);
    auto reads = std::exchange(reads_, {}), writes = std::exchange(writes_, {});
    std::string text = statement(body);
    captured_ = std::move(captured);
    function_ = outer;
    foralls_ = foralls;
    own_loop_ = own_loop;
    reads_ = std::move(reads);
    writes_ = std::move(writes);
    return text;
}

/// Defines the function in front of this one; returns the statements in the place of its definition.
std::string Emitter::nested_definition(const IfStmt* definition, const FunctionDecl* function) {
    std::string parameters;
    const CompoundStmt* body = nullptr;
    for (const Stmt* const part : cast<CompoundStmt>(definition->getThen())->body()) {
        if (const auto* const block = dyn_cast<CompoundStmt>(part)) body = block;
        if (const auto* const declared = dyn_cast<DeclStmt>(part))
            for (const Decl* const one : declared->decls())
                if (const auto* const variable = dyn_cast<VarDecl>(one))
                    parameters +=
                        (parameters.empty() ? "" : ", ") + declare(variable->getType(), variable->getName().str());
    }
    const Frame frame = frame_of(definition);
    const std::string head =
        "static " + declare(function->getReturnType(),
                            function->getName().str() + "(" + (parameters.empty() ? "void" : parameters) + ")");
    const std::string text = as_at_file_scope(body, frame.places);
    const std::string number = std::to_string(offset(definition->getBeginLoc()));
    std::string frame_type, leave;
    if (!frame.fill.empty()) {
        frame_type = "static __thread struct " + frame.name + " { void* p[" + std::to_string(frame.places.size()) +
                     "]; } " + frame.name + "; static void lapwing_leave_" + number + "(struct " + frame.name +
                     "* before) { " + frame.name + " = *before; } ";
        leave = "struct " + frame.name + " lapwing_before_" + number + " __attribute__((cleanup(lapwing_leave_" +
                number + "), unused)) = " + frame.name;
    }
    // Several of them may call each other.
    hoisted_text_ = head + "; " + hoisted_text_ + frame_type + head + line_marker(offset(body->getBeginLoc())) + text;
    return leave + ";" + frame.fill;
}

/// What its body has in the place of a return statement, without the semicolon; else empty.
std::string Emitter::nested_return(const Expr* e) {
    const auto* const name = dyn_cast<DeclRefExpr>(e);
    if (name != nullptr && name->getDecl()->getName() == return_marker) return "return";
    const auto* const comma = dyn_cast<BinaryOperator>(e);
    if (comma == nullptr || comma->getOpcode() != BO_Comma) return {};
    const auto* const left = dyn_cast<DeclRefExpr>(comma->getLHS()->IgnoreParenImpCasts());
    if (left == nullptr || left->getDecl()->getName() != return_marker) return {};
    const Expr* value = comma->getRHS()->IgnoreParenImpCasts();
    if (const auto* const assignment = dyn_cast<BinaryOperator>(value);
        assignment != nullptr && assignment->getOpcode() == BO_Assign)
        if (const auto* const result = dyn_cast<DeclRefExpr>(assignment->getLHS());
            result != nullptr && result->getDecl()->getName().starts_with(result_prefix))
            value = assignment->getRHS();
    return "return " + expression(value);
}

} // namespace upcc
