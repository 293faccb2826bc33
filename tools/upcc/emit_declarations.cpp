#include "emit.hpp"

#include <algorithm>
#include <utility>

using namespace clang;

namespace upcc {

Emitter::Emitter(ASTContext& context, const Prepared& prepared, Types& types, Report& report, int threads,
                 std::string file, Optimisations optimisations)
    : context_{context},
      sources_{context.getSourceManager()},
      prepared_{prepared},
      types_{types},
      report_{report},
      threads_{threads},
      file_{std::move(file)},
      optimisations_{optimisations},
      own_loops_{context, types},
      block_reads_{context, types, optimisations},
      near_loops_{context, types} {}

bool Emitter::must_be_written(const Decl* declaration) const {
    if (const auto* const variable = dyn_cast<VarDecl>(declaration)) {
        const bool dynamic = variable->hasGlobalStorage() && variable->getInit() != nullptr &&
                             types_.holds_pointer_to_shared(variable->getType());
        const bool keeps_const = !variable->hasGlobalStorage() || !variable->getType().isConstant(context_);
        return dynamic || types_.mentions_shared(variable->getType()) ||
               (!keeps_const && types_.holds_pointer_to_shared(variable->getType()));
    }
    if (const auto* const value = dyn_cast<ValueDecl>(declaration)) return types_.mentions_shared(value->getType());
    if (const auto* const definition = dyn_cast<TypedefNameDecl>(declaration))
        return types_.mentions_shared(definition->getUnderlyingType()) ||
               types_.has_threads(definition->getUnderlyingType());
    return false;
}

std::vector<Emitter::GroupRange> Emitter::groups(const Group& declarations) const {
    std::vector<GroupRange> out;
    for (const Decl* const one : declarations) {
        if (one->isImplicit() || one->getBeginLoc().isInvalid() || isa<IndirectFieldDecl>(one)) continue;
        const std::size_t begin = offset(one->getBeginLoc());
        const std::size_t end = end_offset(one->getEndLoc());
        if (out.empty() || begin >= out.back().end) out.push_back({{}, begin, end});
        GroupRange& last = out.back();
        last.declarations.push_back(one);
        last.begin = std::min(last.begin, begin);
        last.end = std::max(last.end, end);
    }
    return out;
}

std::string Emitter::group(const Group& declarations, std::size_t begin, std::size_t end) {
    if (std::none_of(declarations.begin(), declarations.end(), [&](const Decl* one) { return must_be_written(one); })) {
        Pieces pieces;
        for (const Decl* const one : declarations) declaration_pieces(one, pieces);
        return splice(begin, end, pieces);
    }
    std::string out;
    for (const Decl* const one : declarations) out += written(one) + " ";
    return out;
}

/// The changes in a declaration that is kept.
void Emitter::declaration_pieces(const Decl* declaration, Pieces& pieces) {
    if (const auto* const one = dyn_cast<RecordDecl>(declaration)) {
        if (one->isCompleteDefinition()) record_pieces(one, pieces);
    } else if (const auto* const one = dyn_cast<EnumDecl>(declaration)) {
        for (const EnumConstantDecl* const constant : one->enumerators())
            if (constant->getInitExpr() != nullptr) add_expression(constant->getInitExpr(), pieces);
    } else if (const auto* const one = dyn_cast<StaticAssertDecl>(declaration)) {
        add_expression(one->getAssertExpr(), pieces);
    } else if (const auto* const one = dyn_cast<FunctionDecl>(declaration)) {
        for (const ParmVarDecl* const parameter : one->parameters())
            if (parameter->getTypeSourceInfo() != nullptr)
                type_pieces(parameter->getTypeSourceInfo()->getTypeLoc(), pieces);
        begin_function(one);
        if (one->doesThisDeclarationHaveABody()) add_statement(one->getBody(), pieces);
    } else if (const auto* const one = dyn_cast<DeclaratorDecl>(declaration)) {
        if (one->getTypeSourceInfo() != nullptr) type_pieces(one->getTypeSourceInfo()->getTypeLoc(), pieces);
        if (const auto* const variable = dyn_cast<VarDecl>(one); variable != nullptr && variable->getInit() != nullptr)
            add_expression(variable->getInit(), pieces);
    } else if (const auto* const one = dyn_cast<TypedefNameDecl>(declaration)) {
        type_pieces(one->getTypeSourceInfo()->getTypeLoc(), pieces);
    }
}

/// The declaration by itself, in C.
std::string Emitter::written(const Decl* declaration) {
    if (const auto* const one = dyn_cast<FunctionDecl>(declaration)) return function(one);
    if (const auto* const one = dyn_cast<VarDecl>(declaration)) return variable(one);
    if (const auto* const one = dyn_cast<TypedefNameDecl>(declaration)) return type_definition(one);
    if (const auto* const one = dyn_cast<RecordDecl>(declaration))
        return one->isCompleteDefinition() ? record(one) + ";" : record_name(one) + ";";
    Pieces pieces;
    declaration_pieces(declaration, pieces);
    return splice(offset(declaration->getBeginLoc()), end_offset(declaration->getEndLoc()), pieces) + ";";
}

// --- structures
// --------------------------------------------------------------------------------------------------------

std::string Emitter::record(const RecordDecl* record) {
    Pieces pieces;
    record_pieces(record, pieces);
    const std::size_t end = end_offset(record->getEndLoc());
    std::string after; // attributes that are not in the text
    for (const Attr* const attribute : record->attrs())
        if (attribute->getRange().isValid() && offset(attribute->getLocation()) >= end)
            after += " __attribute__((" + source(attribute->getRange()) + "))";
    return splice(offset(record->getBeginLoc()), end, pieces) + after;
}

std::string Emitter::field(const FieldDecl* field) {
    const std::string width = field->isBitField() ? " : " + expression(field->getBitWidth()) : "";
    return declare(field->getType(), field->getName().str()) + width + attributes(field) + ";";
}

void Emitter::record_pieces(const RecordDecl* record, Pieces& pieces) {
    const bool anonymous = record->getIdentifier() == nullptr && !record->isAnonymousStructOrUnion();
    if (anonymous && named_.insert(record).second) {
        const std::string name = record_name(record);
        const std::size_t brace = offset(record->getBraceRange().getBegin());
        const bool by_type_definition = name.find(' ') == name.npos;
        if (!by_type_definition) pieces.push_back({brace, brace, " " + name.substr(name.find(' ') + 1) + " "});
    }
    // Members that share their specifiers.
    const Group members{record->decls_begin(), record->decls_end()};
    for (const auto& [group, begin, group_end] : groups(members)) {
        const bool written = std::any_of(group.begin(), group.end(),
                                         [&](const Decl* one) { return isa<FieldDecl>(one) && must_be_written(one); });
        if (!written) {
            for (const Decl* const one : group) {
                if (isa<IndirectFieldDecl>(one)) continue;
                declaration_pieces(one, pieces);
                if (const auto* const bits = dyn_cast<FieldDecl>(one); bits != nullptr && bits->isBitField())
                    add_expression(bits->getBitWidth(), pieces);
            }
            continue;
        }
        std::string text;
        for (const Decl* const one : group) {
            if (const auto* const inner = dyn_cast<RecordDecl>(one); inner != nullptr && inner->isCompleteDefinition())
                text += this->record(inner) + ";";
            if (const auto* const member = dyn_cast<FieldDecl>(one)) text += field(member);
        }
        pieces.push_back({begin, after_semicolon(group_end), text});
    }
}

std::string Emitter::type_definition(const TypedefNameDecl* definition) {
    const QualType type = definition->getUnderlyingType();
    // Objects of it are declared through its parts.
    if (types_.is_shared(type) || types_.has_threads(type)) return {};
    return "typedef " + declare(type, definition->getName().str()) + ";";
}

// --- variables
// ---------------------------------------------------------------------------------------------------------

namespace {

[[nodiscard]] std::string storage(StorageClass storage) {
    return storage == SC_Extern          ? "extern "
           : storage == SC_Static        ? "static "
           : storage == SC_PrivateExtern ? "__private_extern__ "
                                         : "";
}

} // namespace

/// The record from which the start of the program creates a shared object, with its initial value.
std::string Emitter::shared_object(const VarDecl* variable) {
    const QualType t = variable->getType();
    const std::string number_of = std::to_string(objects_++);
    const std::string name = "lapwing_upcc_object_" + number_of;
    const std::string element = element_bytes(t);
    std::string image = "0";
    std::string image_elements = "0";
    std::string out;
    const Expr* value = variable->getInit();
    if (value != nullptr && rows_depend_on_threads(t))
        if (const std::string scattered = scattered_values(variable); !scattered.empty()) {
            initialisers_ += scattered;
            value = nullptr;
        }
    const std::string shape_name =
        value != nullptr && types_.holds_pointer_to_shared(t) ? "lapwing_i" : "lapwing_upcc_image_" + number_of;
    const std::string values = value == nullptr ? std::string{} : declare(initialised_shape(variable), shape_name);
    if (value != nullptr && types_.holds_pointer_to_shared(t)) {
        if (!is_null(value))
            initialisers_ += "{ " + values + " = " + expression(value) + "; " +
                             too_many(variable, "sizeof lapwing_i / " + element, "(1" + step(t) + ")") +
                             "if (MYTHREAD == 0) for (size_t lapwing_k = 0; lapwing_k < sizeof lapwing_i / " + element +
                             "; ++lapwing_k) lapwing_upc_put(lapwing_upc_plus(" + name_of(variable) + ", " + element +
                             ", " + block(t, nullptr) + ", (ptrdiff_t)lapwing_k), (char*)&lapwing_i + lapwing_k * " +
                             element + ", " + element + "); }\n";
    } else if (value != nullptr) {
        image = "lapwing_upcc_image_" + number_of;
        out += "static " + values + " = " + expression(value) + "; ";
        image_elements = "sizeof(" + image + ")/" + element;
        image = "&" + image;
    }
    const bool declared_only = variable->hasExternalStorage() && variable->getInit() == nullptr;
    const auto total = types_.elements(t);
    const std::uint64_t count = total.value_or(declared_only ? 0 : 1);
    const bool times = prepared_.times_threads(count);
    const Layout layout = types_.layout(t);
    const PresumedLoc place = sources_.getPresumedLoc(variable->getLocation());
    const std::string block_size = layout.kind == Layout::Kind::even ? "(size_t)-1"
                                   : layout.is_indefinite()          ? "0"
                                                                     : std::to_string(layout.block);
    return out + "static const struct lapwing_upcc_object " + name + " = { &" + name_of(variable) + ", " + element +
           ", " + std::to_string(times ? count / prepared_.any_threads : count) + "u, " + block_size + ", " + image +
           ", " + image_elements + ", \"" + variable->getName().str() + "\", \"" + quoted(place.getFilename()) +
           "\", " + std::to_string(place.getLine()) + ", " + (times ? "1" : "0") + ", " + (declared_only ? "1" : "0") +
           " }; static const struct lapwing_upcc_object* " + name +
           "_entry __attribute__((used, section(\"lapwing_upcc_objects\"))) = &" + name + ";";
}

std::string Emitter::shared_variable(const VarDecl* variable) {
    const std::string name = variable->getName().str();
    const bool external = variable->hasExternalStorage() && variable->getInit() == nullptr;
    if (external) {
        const std::string declared = "extern lapwing_upc_pointer " + name + ";";
        const bool elsewhere = variable->getActingDefinition() == nullptr && variable->getDefinition() == nullptr;
        // So that the start of the program can compare it with the definition.
        return elsewhere && variable->isUsed() && !types_.element(variable->getType())->isIncompleteType()
                   ? declared + " " + shared_object(variable)
                   : declared;
    }
    const std::string kept = variable->getStorageClass() == SC_Static ? "static " : "";
    // Without a value it may be defined in several sources, as in old C.
    const std::string value = variable->getInit() != nullptr ? " = {0, 0, 0}" : "";
    std::string pointer =
        hoisted_.contains(variable) ? std::string{} : kept + "lapwing_upc_pointer " + name + value + ";";
    if (variable->getType()->isIncompleteArrayType() || variable->getType()->isIncompleteType()) return pointer;
    return pointer + " " + shared_object(variable);
}

/// A private object with static storage that contains a pointer-to-shared, whose value is known at run time only,
/// since addresses are assigned at the start.
std::string Emitter::static_pointer(const VarDecl* variable, const std::string& declaration) {
    const Expr* const value = variable->getInit();
    const std::string name = variable->getName().str();
    if (is_null(value)) return declaration + ";";
    if (!touches_shared(value) && !types_.points_to_shared(types_.element(variable->getType())))
        return declaration + " = " + expression(value) + ";";
    const std::string assign = "{ " + declare(variable->getType().getUnqualifiedType(), "lapwing_i") + " = " +
                               expression(value) + "; __builtin_memcpy((void*)&" + name +
                               ", &lapwing_i, sizeof lapwing_i); }";
    if (!variable->isStaticLocal()) {
        initialisers_ += assign + "\n";
        return declaration + ";";
    }
    const std::string done = name + "_lapwing_done";
    return declaration + "; static char " + done + "; if (!" + done + ") { " + done + " = 1; " + assign + " }";
}

QualType Emitter::without_const(QualType type) const {
    if (!type.isConstant(context_)) return type;
    if (const auto* const array = context_.getAsConstantArrayType(type))
        return context_.getConstantArrayType(without_const(array->getElementType()), array->getSize(), nullptr,
                                             array->getSizeModifier(), 0);
    if (const auto* const array = context_.getAsIncompleteArrayType(type))
        return context_.getIncompleteArrayType(without_const(array->getElementType()), array->getSizeModifier(), 0);
    type = type.getCanonicalType();
    type.removeLocalConst();
    return type;
}

std::string Emitter::variable(const VarDecl* variable) {
    const QualType t = variable->getType();
    const std::string name = variable->getName().str();
    if (Types::is_shared(t)) return variable->hasGlobalStorage() ? shared_variable(variable) : std::string{};
    // What is assigned when the program starts is not a constant.
    const QualType declared = variable->hasGlobalStorage() && types_.holds_pointer_to_shared(t) ? without_const(t) : t;
    const std::string head = storage(variable->getStorageClass()) +
                             (variable->getTLSKind() != VarDecl::TLS_None ? "__thread " : "") +
                             declare(declared, name) + attributes(variable);
    if (variable->getInit() == nullptr) return head + ";";
    if (variable->hasGlobalStorage() && types_.holds_pointer_to_shared(t)) return static_pointer(variable, head);
    return head + " = " + expression(variable->getInit()) + ";";
}

// --- functions
// ---------------------------------------------------------------------------------------------------------

std::string Emitter::attributes(const Decl* declaration) const {
    std::string out;
    for (const Attr* const attribute : declaration->attrs()) {
        if (const auto* const label = dyn_cast<AsmLabelAttr>(attribute))
            out += " __asm__(\"" + label->getLabel().str() + "\")";
        else if (const auto* const aligned = dyn_cast<AlignedAttr>(attribute); aligned != nullptr && aligned->isC11())
            out += " __attribute__((aligned(" + std::to_string(aligned->getAlignment(context_) / 8) + ")))";
        else if (!attribute->isImplicit() && !attribute->isInherited() && attribute->getRange().isValid() &&
                 isa<InheritableAttr>(attribute))
            out += " __attribute__((" + source(attribute->getRange()) + "))";
    }
    return out;
}

std::string Emitter::function_head(const FunctionDecl* function) {
    std::string parameters;
    std::string old_style;
    for (const ParmVarDecl* const parameter : function->parameters()) {
        const std::string name = parameter->getName().str();
        const std::string declared = declare(parameter->getType(), name);
        parameters += (parameters.empty() ? "" : ", ") + (function->hasWrittenPrototype() ? declared : name);
        old_style += declared + "; ";
    }
    if (function->isVariadic() && function->hasWrittenPrototype()) parameters += ", ...";
    if (function->getNumParams() == 0 && function->hasWrittenPrototype()) parameters = "void";
    const std::string specifiers =
        storage(function->getStorageClass()) + (function->isInlineSpecified() ? "inline " : "");
    const std::string head =
        specifiers + declare(function->getReturnType(), function->getName().str() + "(" + parameters + ")");
    const bool definition = function->doesThisDeclarationHaveABody();
    // Before a definition, after a declaration.
    const std::string more = attributes(function);
    if (!definition) return head + more;
    return more + " " + head + (function->hasWrittenPrototype() ? "" : " " + old_style);
}

std::string Emitter::function(const FunctionDecl* function) {
    if (!function->doesThisDeclarationHaveABody()) return function_head(function) + ";";
    const Stmt* const body = function->getBody();
    begin_function(function);
    return function_head(function) + line_marker(offset(body->getBeginLoc())) + statement(body);
}

// --- all
// ---------------------------------------------------------------------------------------------------------------

/// Whether it is inline and nothing else: by C it needs a definition elsewhere, which old programs do not have.
bool Emitter::is_only_inline(const Decl* declaration) const {
    const auto* const function = dyn_cast<FunctionDecl>(declaration);
    return function != nullptr && function->isInlineSpecified() && function->doesThisDeclarationHaveABody() &&
           function->getStorageClass() == SC_None && function->isExternallyVisible() &&
           !function->hasAttr<GNUInlineAttr>() && !function->isMain();
}

std::string Emitter::end_of_file() {
    std::string out = "\n" + inline_functions_;
    std::string initialise = "0";
    if (!initialisers_.empty()) {
        out += "static void lapwing_upcc_initialise(void) {\n" + initialisers_ + "}\n";
        initialise = "lapwing_upcc_initialise";
    }
    return out + "static const struct lapwing_upcc_source lapwing_upcc_this = { \"" + quoted(file_) + "\", " +
           std::to_string(threads_) + ", " + initialise +
           " }; static const struct lapwing_upcc_source* lapwing_upcc_this_entry __attribute__((used, "
           "section(\"lapwing_upcc_sources\"))) = &lapwing_upcc_this;\n";
}

namespace {

/// Without the flags of line markers that say where an included file begins and ends: an include within a declaration
/// that is written anew has lost one of its two.
[[nodiscard]] std::string without_nesting(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const std::string_view line{text.data() + at, end - at};
        LineMarker marker;
        if (line.starts_with("# ") && read_line_marker(line, marker))
            out.append(line.substr(0, line.rfind('"') + 1)).append(marker.system ? " 3\n" : "\n");
        else out += line;
        at = end;
    }
    return out;
}

} // namespace

std::string Emitter::translation_unit() {
    Group all;
    for (const Decl* const one : context_.getTranslationUnitDecl()->decls()) {
        if (one->isImplicit() || one->getBeginLoc().isInvalid()) continue;
        const std::size_t begin = offset(one->getBeginLoc());
        if (begin < prepared_.program_begin || begin >= prepared_.program_end) continue;
        all.push_back(one);
    }
    Pieces pieces;
    for (const auto& [group, begin, last] : groups(all)) {
        const bool body =
            isa<FunctionDecl>(group.back()) && cast<FunctionDecl>(group.back())->doesThisDeclarationHaveABody();
        const bool write =
            std::any_of(group.begin(), group.end(), [&](const Decl* one) { return must_be_written(one); });
        const std::size_t end = write && !body ? after_semicolon(last) : last;
        std::string text = this->group(group, begin, end);
        if (is_only_inline(group.back())) {
            // One definition of several sources' is then used.
            const std::string name = cast<FunctionDecl>(group.back())->getName().str();
            text.insert(0, "__attribute__((weak)) ");
            inline_functions_.append("extern __typeof__(").append(name).append(") ").append(name).append(";\n");
        }
        if (hoisted_text_.find('\n') != hoisted_text_.npos) hoisted_text_ += line_marker(begin);
        text.insert(0, std::exchange(hoisted_text_, {}));
        pieces.push_back({begin, end, text});
    }
    const std::string threads = threads_ == 0 ? "extern const int THREADS __asm__(\"lapwing_upc_thread_count\");\n"
                                              : "enum { THREADS = " + std::to_string(threads_) + " };\n";
    const std::size_t prelude_end = prepared_.text.rfind("# 1 \"<THREADS>\"", prepared_.program_begin);
    // The first line names the file for debuggers.
    return without_nesting("# 1 \"" + quoted(file_) + "\"\n" + source(0, prelude_end) + threads +
                           splice(prepared_.program_begin, prepared_.program_end, pieces) + end_of_file());
}

} // namespace upcc
