// Initial values that are not constants in C: of pointers-to-shared, and of arrays whose rows depend on THREADS. The
// start of the program assigns them.
#include "emit.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

bool Emitter::is_null(const Expr* value) const {
    return value->IgnoreParenCasts()->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNotNull) !=
           Expr::NPCK_NotNull;
}

/// The type of the initial values of a shared object. The first dimension may be a multiple of THREADS: there are as
/// many elements as initial values.
QualType Emitter::initialised_shape(const VarDecl* variable) {
    QualType shape = types_.without_shared(variable->getType());
    if (const auto* const array = context_.getAsConstantArrayType(shape);
        array != nullptr && prepared_.times_threads(array->getSize().getZExtValue()))
        shape = context_.getIncompleteArrayType(array->getElementType(), array->getSizeModifier(), 0);
    if (rows_depend_on_threads(variable->getType()))
        error(variable->getLocation(), "with THREADS in an inner dimension, the initial value of a structure needs "
                                       "braces of its own; or compile for a fixed number of threads (-T)");
    return shape;
}

bool Emitter::rows_depend_on_threads(QualType type) const {
    const auto count =
        type->isArrayType() ? types_.elements(context_.getAsArrayType(type)->getElementType()) : std::nullopt;
    return count && prepared_.times_threads(*count);
}

/// Of the initial values of an array: the indices of its element, and how many of them are those of the row whose
/// braces it is in. Without braces values fill row after row.
struct Emitter::InitialValue {
    std::vector<std::uint64_t> indices;
    std::size_t braced = 0;
    std::string text;
};

bool Emitter::has_braces(const InitListExpr* list) const {
    return list->getLBraceLoc().isValid() && prepared_.text[offset(list->getLBraceLoc())] == '{';
}

/// False where a structure has no braces of its own.
bool Emitter::initial_values(QualType type, const Expr* value, InitialValue at, std::vector<InitialValue>& found) {
    const auto* list = dyn_cast<InitListExpr>(value);
    if (list != nullptr && !list->isSemanticForm()) list = list->getSemanticForm();
    if (!type->isArrayType()) {
        at.text = expression(value);
        found.push_back(at);
        return list == nullptr || has_braces(list);
    }
    const bool braced_text = list != nullptr && list->isStringLiteralInit();
    const auto* const text = dyn_cast<StringLiteral>((braced_text ? list->getInit(0) : value)->IgnoreParens());
    if (list == nullptr && text == nullptr) return false;
    if (text != nullptr || has_braces(list)) at.braced = at.indices.size();
    const ArrayType* const array = context_.getAsArrayType(type);
    const auto each = [&](std::uint64_t index) {
        InitialValue next = at;
        next.indices.push_back(index);
        return next;
    };
    if (text != nullptr) {
        // Its final zero, and what follows it, are zero already.
        const std::uint64_t room = context_.getAsConstantArrayType(type)->getSize().getZExtValue();
        for (unsigned k = 0; k < std::min<std::uint64_t>(text->getLength(), room); ++k) {
            found.push_back(each(k));
            found.back().text = std::to_string(text->getCodeUnit(k));
        }
        return true;
    }
    for (unsigned k = 0; k < list->getNumInits(); ++k)
        if (!isa<ImplicitValueInitExpr>(list->getInit(k)) &&
            !initial_values(array->getElementType(), list->getInit(k), each(k), found))
            return false;
    return true;
}

/// A statement that ends the program at its start where there are more initial values than elements for them.
std::string Emitter::too_many(const VarDecl* variable, const std::string& values, const std::string& elements) const {
    const PresumedLoc place = sources_.getPresumedLoc(variable->getLocation());
    return "if (" + values + " > " + elements + ") lapwing_upcc_too_many(\"" + variable->getName().str() + "\", \"" +
           quoted(place.getFilename()) + "\", " + std::to_string(place.getLine()) + ", " + values + ", " + elements +
           "); ";
}

/// Statements for the start of the program, which store the initial values of an array with THREADS in another
/// dimension than the first. Empty where that is not possible.
std::string Emitter::scattered_values(const VarDecl* variable) {
    const QualType t = variable->getType();
    std::vector<InitialValue> found;
    if (!initial_values(t, variable->getInit(), {}, found)) return {};
    std::string places, values;
    std::map<std::string, std::uint64_t> most; // values of rows of that many elements
    for (const InitialValue& one : found) {
        std::string place = "0", row = "1";
        std::uint64_t in_row = 0; // its number in the row, where that does not depend on THREADS
        bool known = true, depends = false;
        QualType of = t.getCanonicalType();
        for (std::size_t k = 0; k < one.indices.size(); ++k) {
            const llvm::APInt count = context_.getAsConstantArrayType(of)->getSize();
            place = "(" + place + ")*(" + number(count) + ")+" + std::to_string(one.indices[k]);
            if (k >= one.braced) {
                const bool times = prepared_.times_threads(count.getZExtValue());
                row += "*(" + number(count) + ")";
                known = known && !(times && in_row != 0);
                depends = depends || times;
                in_row = in_row * count.getZExtValue() + one.indices[k];
            }
            of = context_.getAsArrayType(of)->getElementType();
        }
        if (known && depends) most[row] = std::max(most[row], in_row + 1);
        places += (places.empty() ? "" : ", ") + place;
        values += (values.empty() ? "" : ", ") + one.text;
    }
    if (found.empty()) return " ";
    const std::string element = element_bytes(t);
    std::string out;
    for (const auto& [row, count] : most) out += too_many(variable, std::to_string(count), row);
    return out + "if (MYTHREAD == 0) { const ptrdiff_t lapwing_at[] = { " + places + " }; const " +
           value_type(types_.element(t)) + " lapwing_i[] = { " + values +
           " }; for (size_t lapwing_k = 0; lapwing_k < sizeof lapwing_at / sizeof *lapwing_at; ++lapwing_k) "
           "lapwing_upc_put(lapwing_upc_plus(" +
           name_of(variable) + ", " + element + ", " + block(t, nullptr) +
           ", lapwing_at[lapwing_k]), &lapwing_i[lapwing_k], " + element + "); }\n";
}

// --- of static objects in functions
// ----------------------------------------------------------------------------------------

bool Emitter::is_assigned_at_start(const VarDecl* variable) const {
    const QualType t = variable->getType();
    const Expr* const value = variable->getInit();
    return Types::is_shared(t) && value != nullptr &&
           ((types_.holds_pointer_to_shared(t) && !is_null(value)) || rows_depend_on_threads(t));
}

void Emitter::begin_function(const FunctionDecl* function) {
    struct Finder : RecursiveASTVisitor<Finder> {
        Emitter* emitter = nullptr;
        bool VisitVarDecl(VarDecl* variable) {
            if (variable->isStaticLocal() && emitter->is_assigned_at_start(variable)) emitter->hoist(variable);
            return true;
        }
        // Nested functions name them, too.
        bool TraverseIfStmt(IfStmt* statement) {
            const bool outer = in_nested, is_one = nested_function(statement) != nullptr;
            in_nested = outer || is_one;
            has_nested = has_nested || is_one;
            const bool go_on = RecursiveASTVisitor::TraverseIfStmt(statement);
            in_nested = outer;
            return go_on;
        }
        bool VisitDeclRefExpr(DeclRefExpr* name) {
            const auto* const variable = dyn_cast<VarDecl>(name->getDecl());
            if (in_nested && variable != nullptr && variable->isStaticLocal() && Types::is_shared(variable->getType()))
                emitter->hoist(variable);
            return true;
        }
        bool in_nested = false, has_nested = false;
    } finder;
    function_ = function;
    finder.emitter = this;
    if (function->doesThisDeclarationHaveABody()) finder.TraverseStmt(function->getBody());
    // A call may change any variable: no loop is optimised.
    if (finder.has_nested) function_ = nullptr;
}

/// The start of the program names the object, and what its initial value names.
void Emitter::hoist(const VarDecl* variable) {
    struct Finder : RecursiveASTVisitor<Finder> {
        std::vector<const VarDecl*> objects;
        bool names_others = false;
        bool VisitDeclRefExpr(DeclRefExpr* name) {
            if (name->getDecl()->getParentFunctionOrMethod() == nullptr || isa<FunctionDecl>(name->getDecl()))
                return true;
            const auto* const one = dyn_cast<VarDecl>(name->getDecl());
            if (one == nullptr || !Types::is_shared(one->getType())) names_others = true;
            else if (one->isStaticLocal()) objects.push_back(one);
            return true;
        }
    } finder;
    finder.objects.push_back(variable);
    const bool assigned = is_assigned_at_start(variable);
    if (assigned) finder.TraverseStmt(const_cast<Expr*>(variable->getInit()));
    const TagDecl* const record = types_.element(variable->getType())->getAsTagDecl();
    if (assigned && (finder.names_others || (record != nullptr && record->getParentFunctionOrMethod() != nullptr)))
        error(variable->getLocation(), "the initial value of '" + variable->getName().str() +
                                           "' is assigned at the start of the program, and must name nothing but "
                                           "shared objects of the function; declare the others at file scope");
    for (const VarDecl* const one : finder.objects) {
        const std::string name =
            "lapwing_static_" + std::to_string(offset(one->getLocation())) + "_" + one->getName().str();
        if (hoisted_.emplace(one, name).second) hoisted_text_ += "static lapwing_upc_pointer " + name + "; ";
    }
}

std::string Emitter::name_of(const VarDecl* variable) const {
    const auto known = hoisted_.find(variable);
    return known == hoisted_.end() ? variable->getName().str() : known->second;
}

} // namespace upcc
