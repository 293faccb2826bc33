#include "messages.hpp"

#include "clang_versions.hpp"
#include "lexer.hpp"
#include "types.hpp"

#include <algorithm>
#include <array>
#include <cctype>

using namespace clang;

namespace upcc {

namespace {

[[nodiscard]] std::size_t offset_of(const Diagnostic& info) {
    if (!info.hasSourceManager() || info.getLocation().isInvalid()) return 0;
    const SourceManager& sources = info.getSourceManager();
    return sources.getFileOffset(sources.getFileLoc(info.getLocation()));
}

[[nodiscard]] QualType type_argument(const Diagnostic& info, unsigned k) {
    if (k >= info.getNumArgs() || info.getArgKind(k) != DiagnosticsEngine::ak_qualtype) return {};
    return QualType::getFromOpaquePtr(reinterpret_cast<void*>(info.getRawArg(k)));
}

/// Assigning, passing, returning or initialising between pointers to shared and to private objects.
[[nodiscard]] std::string conversion(const Diagnostic& info, const Prepared& prepared) {
    const QualType from = type_argument(info, 0);
    const QualType to = type_argument(info, 1);
    if (from.isNull() || to.isNull())
        return "a pointer-to-shared and a pointer-to-private do not convert into each other without a cast";
    // Assignments name the destination first.
    const auto name = [&](QualType type) { return "'" + as_upc(type.getAsString(), prepared) + "'"; };
    return name(from) + " and " + name(to) +
           ": a pointer-to-shared and a pointer-to-private do not convert into each other; casts are for own elements "
           "alone";
}

/// Comparing, subtracting, or choosing between such pointers.
[[nodiscard]] std::string operation(const Diagnostic& info, const Prepared& prepared) {
    const auto name = [&](unsigned k) {
        const QualType type = type_argument(info, k);
        return type.isNull() ? std::string{} : " '" + as_upc(type.getAsString(), prepared) + "'";
    };
    static constexpr std::array what{"be compared", "be subtracted", "both be results of a conditional operator"};
    const auto kind = static_cast<std::size_t>(info.getRawArg(2));
    return "a pointer-to-shared and a pointer-to-private cannot " + std::string{what.at(kind)} + ":" + name(0) +
           " and" + name(1);
}

/// Whether a sign is a part of a string, or of a character, of its line.
[[nodiscard]] bool is_quoted(std::string_view text, std::size_t at) {
    char quote = '\0';
    for (std::size_t k = text.rfind('\n', at) + 1; k < at; ++k) {
        if (quote != '\0' && text[k] == '\\') ++k;
        else if (quote == text[k]) quote = '\0';
        else if (quote == '\0' && (text[k] == '"' || text[k] == '\'')) quote = text[k];
    }
    return quote != '\0';
}

/// Around the offset.
[[nodiscard]] std::string_view statement(std::string_view text, std::size_t offset) {
    constexpr const char* ends = ";{}";
    std::size_t before = offset == 0 ? text.npos : text.find_last_of(ends, offset - 1);
    while (before != text.npos && is_quoted(text, before))
        before = before == 0 ? text.npos : text.find_last_of(ends, before - 1);
    std::size_t end = text.find_first_of(ends, offset);
    while (end != text.npos && is_quoted(text, end)) end = text.find_first_of(ends, end + 1);
    const std::size_t begin = before == text.npos ? 0 : before + 1;
    return text.substr(begin, end - begin);
}

/// Whether the place is in the expression of upc_barrier and the like, which the pre-pass puts in brackets.
[[nodiscard]] bool in_barrier(std::string_view text, std::size_t offset) {
    const std::string_view around = statement(text, offset);
    return around.substr(0, offset - static_cast<std::size_t>(around.data() - text.data())).find("lapwing_upcc_") !=
           text.npos;
}

/// Not as a part of another name, such as MAX_THREADS, nor in a text.
[[nodiscard]] bool names_threads(std::string_view text) {
    const std::vector<Token> tokens = tokens_of(text);
    return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
        return token.kind == TokenKind::name && text.substr(token.begin, token.end - token.begin) == "THREADS";
    });
}

/// THREADS or MYTHREAD beside an operator that changes its operand; else empty.
[[nodiscard]] std::string_view keyword_at(std::string_view text, std::size_t offset) {
    const std::string_view around = statement(text, offset);
    const std::size_t begin = static_cast<std::size_t>(around.data() - text.data());
    const std::vector<Token> tokens = tokens_of(around);
    const auto word = [&](const Token& token) { return around.substr(token.begin, token.end - token.begin); };
    const auto is_bracket = [&](const Token& token) { return word(token) == "(" || word(token) == ")"; };
    const auto keyword = [&](const Token& token) -> std::string_view {
        if (word(token) == "THREADS" || word(token) == "lapwing_upcc_threads") return "THREADS";
        return word(token) == "MYTHREAD" ? "MYTHREAD" : std::string_view{};
    };
    auto after =
        std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) { return begin + token.begin >= offset; });
    auto before = after;
    while (before != tokens.begin() && is_bracket(*std::prev(before))) --before;
    if (before != tokens.begin() && !keyword(*std::prev(before)).empty()) return keyword(*std::prev(before));
    while (after != tokens.end() && (is_bracket(*after) || word(*after) == "+" || word(*after) == "-")) ++after;
    return after == tokens.end() ? std::string_view{} : keyword(*after);
}

/// The operator of UPC of whose operand it is; empty for those of C.
[[nodiscard]] std::string_view size_operator_at(const Prepared& prepared, std::size_t offset) {
    const auto after = prepared.size_operators.upper_bound(offset);
    if (after == prepared.size_operators.begin()) return {};
    const auto& [begin, use] = *std::prev(after);
    constexpr std::size_t length = 6; // of sizeof
    const std::string_view between = std::string_view{prepared.text}.substr(begin + length, offset - begin - length);
    if (between.find("sizeof") != between.npos || between.find("lignof") != between.npos) return {};
    return use.kind == SizeOperator::local   ? "upc_localsizeof"
           : use.kind == SizeOperator::block ? "upc_blocksizeof"
                                             : "upc_elemsizeof";
}

/// Warnings about constants: THREADS has another value and type during parsing than in the running program.
[[nodiscard]] bool depends_on_threads(unsigned id) {
    switch (id) {
    case diag::warn_format_conversion_argument_type_mismatch:
    case diag::warn_out_of_range_compare:
    case diag::warn_impcast_integer_precision_constant:
    case diag::warn_impcast_bitfield_precision_constant:
    case diag::warn_impcast_single_bit_bitield_precision_constant:
    case diag::warn_shift_gt_typewidth:
    case diag::warn_shift_lhs_negative:
    case diag::warn_shift_result_gt_typewidth:
    case diag::warn_shift_result_sets_sign_bit:
    case diag::warn_integer_constant_overflow:
    case diag::warn_builtin_chk_overflow:
    case diag::warn_fortify_source_overflow:
    case diag::warn_fortify_source_size_mismatch:
    case diag::warn_enum_constant_in_bool_context:
    case diag::warn_abs_too_small:
    case diag::warn_missing_case_for_condition: return true;
    default: return false;
    }
}

} // namespace

std::string Messages::text(const Diagnostic& info) const {
    switch (info.getID()) {
    case diag::err_as_qualified_auto_decl:
        return "an automatic variable cannot be shared; declare it static, or at file scope";
    case diag::err_field_with_address_space:
        return "a member of a structure cannot be shared by itself; the whole object can";
    case diag::err_compound_literal_with_address_space: return shared_literal;
    case diag::err_arg_with_address_space: return "a parameter cannot be shared; pass a pointer-to-shared";
    case diag::err_function_definition_not_allowed:
        return "a function cannot be defined in another one: GNU's nested functions are not supported; define it at "
               "file "
               "scope";
    case diag::err_qualified_function_typeid:
    case diag::err_attribute_address_function_type: return "a function cannot be shared";
    case diag::err_typecheck_incompatible_nested_address_space:
    case diag::err_typecheck_incompatible_address_space: return conversion(info, prepared_);
    case diag::err_typecheck_op_on_nonoverlapping_address_space_pointers: return operation(info, prepared_);
    case diag::err_bitfield_width_exceeds_type_width:
    case diag::err_alignment_not_power_of_two:
        if (prepared_.threads == 0 && names_threads(statement(prepared_.text, offset_of(info))))
            return std::string{"THREADS is not a constant here, but "} +
                   (info.getID() == diag::err_alignment_not_power_of_two ? "an alignment"
                                                                         : "the width of a bit-field") +
                   " must be one; compile for a fixed number of threads (-T)";
        break;
    case diag::err_typecheck_expression_not_modifiable_lvalue:
    case diag::err_typecheck_assign_const:
        if (const std::string_view name = keyword_at(prepared_.text, offset_of(info)); !name.empty())
            return std::string{name} + " is an expression, and cannot be changed";
        break;
    case diag::err_sizeof_alignof_typeof_bitfield:
        if (const std::string_view name = size_operator_at(prepared_, offset_of(info)); !name.empty())
            return "a bit-field has no size of its own, and cannot be the operand of " + std::string{name};
        break;
    case diag::err_typecheck_invalid_lvalue_addrof: {
        // It points to the operator, or to the name.
        const std::size_t at = offset_of(info);
        const std::size_t name = prepared_.text.find_first_not_of("& \t\n(", at);
        const std::string_view rest = std::string_view{prepared_.text}.substr(std::min(name, prepared_.text.size()));
        constexpr std::string_view threads = "THREADS";
        if (rest.starts_with(threads) &&
            (rest.size() == threads.size() ||
             (std::isalnum(static_cast<unsigned char>(rest[threads.size()])) == 0 && rest[threads.size()] != '_')))
            return "THREADS is an expression, and has no address";
        break;
    }
    default: break;
    }
    SmallString<256> formatted;
    info.FormatDiagnostic(formatted);
    return as_upc(formatted.str().str(), prepared_);
}

/// Warnings that would not appear for the program as written.
bool Messages::made_by_translation(const Diagnostic& info, std::size_t offset) const {
    const unsigned id = info.getID();
    if (id == diag::warn_attribute_address_multiple_identical_qualifiers || id == diag::note_use_ifdef_guards)
        return true;
    if (depends_on_threads(id) && names_threads(statement(prepared_.text, offset))) return true;
    const std::size_t begin = prepared_.text.rfind('\n', offset) + 1;
    const std::string_view line =
        std::string_view{prepared_.text}.substr(begin, prepared_.text.find('\n', offset) - begin);
    // A function of UPC's headers, shown with its name in the library.
    return upcc::is_note(info) && line.find("__asm__(\"lapwing") != line.npos;
}

void Messages::HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic& info) {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level == DiagnosticsEngine::Ignored || level == DiagnosticsEngine::Remark) return;
    const std::size_t offset = offset_of(info);
    const bool is_note = level == DiagnosticsEngine::Note;
    const bool is_error = level >= DiagnosticsEngine::Error;
    const bool is_warning = !is_note && !is_error_by_default(info); // also with -Werror
    if (made_by_translation(info, offset)) {
        if (!is_note) shown_ = false;
        return;
    }
    const bool closes = info.getID() == diag::err_expected && text(info) == "expected ')'";
    if ((closes || info.getID() == diag::note_matching) && in_barrier(prepared_.text, offset)) {
        if (closes) report_.error(offset, "expected ';' after the expression");
        return;
    }
    // Notes of what is not shown, and about the translator's own declarations, do not help the programmer.
    if (is_note && (!shown_ || offset < prepared_.program_begin)) return;
    if (!is_note) shown_ = !is_warning || (offset >= prepared_.program_begin && offset < prepared_.program_end);
    if (!shown_) return;
    if (offset >= prepared_.program_end) {
        // For a layout's expression, evaluated after the program.
        if (is_error) report_.error(offset, "the block size of a shared type must be a constant integer expression");
        return;
    }
    report_.add(is_error  ? Report::Kind::error
                : is_note ? Report::Kind::note
                          : Report::Kind::warning,
                offset, text(info));
}

} // namespace upcc
