#pragma once

#include "block_reads.hpp"
#include "clang.hpp"
#include "near_loops.hpp"
#include "optimisations.hpp"
#include "own_loops.hpp"
#include "prepass.hpp"
#include "report.hpp"
#include "types.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace upcc {

/// Writes the program as C: the parsed text, with replacements for whatever is shared. Parts without anything shared
/// are unchanged.
class Emitter {
public:
    Emitter(clang::ASTContext& context, const Prepared& prepared, Types& types, Report& report, int threads,
            std::string file, Optimisations optimisations);

    [[nodiscard]] std::string translation_unit();

private:
    /// A replacement for a range of the parsed text.
    struct Piece {
        std::size_t begin;
        std::size_t end;
        std::string text;
    };
    using Pieces = std::vector<Piece>;

    // emit_text.cpp
    [[nodiscard]] std::size_t offset(clang::SourceLocation location) const;
    [[nodiscard]] std::size_t end_offset(clang::SourceLocation last) const;
    /// The parsed text, with the values of size operators alone, since the types that they are of may not be kept.
    [[nodiscard]] std::string source(std::size_t begin, std::size_t end) const;
    [[nodiscard]] std::string source(clang::SourceRange range) const {
        return source(offset(range.getBegin()), end_offset(range.getEnd()));
    }
    /// The parsed text from begin to end, with the pieces inserted. Line numbers are preserved.
    [[nodiscard]] std::string splice(std::size_t begin, std::size_t end, Pieces pieces) const;
    [[nodiscard]] std::string line_marker(std::size_t at) const;
    /// After the next semicolon.
    [[nodiscard]] std::size_t after_semicolon(std::size_t at) const;
    [[nodiscard]] std::size_t statement_end(const clang::Stmt* statement) const;
    void error(clang::SourceLocation location, const std::string& text) { report_.error(offset(location), text); }

    // emit_types.cpp
    /// A declaration of `name`, or a type name where that is empty, in C.
    [[nodiscard]] std::string declare(clang::QualType type, const std::string& name);
    [[nodiscard]] std::string type(clang::QualType type) { return declare(type, ""); }
    /// A type that is one word before a name: `int (*)(void) f` is not valid.
    [[nodiscard]] std::string value_type(clang::QualType shared);
    [[nodiscard]] std::string function_declarator(const clang::FunctionType* function, const std::string& name);
    [[nodiscard]] std::string record_name(const clang::TagDecl* record);
    [[nodiscard]] std::string number(const llvm::APInt& value) const;
    [[nodiscard]] static std::string qualifiers(clang::QualType type);
    /// The array sizes and typeofs in a declarator.
    void type_pieces(clang::TypeLoc type, Pieces& pieces);

    // emit_places.cpp
    /// The pointer-to-shared of an lvalue.
    [[nodiscard]] std::string place(const clang::Expr* lvalue);
    struct InRounds {
        const clang::Expr* base;
        const clang::Expr* round;
        const clang::Expr* thread; ///< null: 0
    };
    [[nodiscard]] std::optional<InRounds> rounds_of(const clang::ArraySubscriptExpr* subscript) const;
    [[nodiscard]] std::string base_place(const clang::MemberExpr* member);
    [[nodiscard]] std::string member_place(const clang::MemberExpr* member);
    [[nodiscard]] std::string get(const clang::Expr* lvalue);
    [[nodiscard]] std::string put(const clang::Expr* lvalue, const std::string& value);
    [[nodiscard]] std::string load(const std::string& value_type, const std::string& place, bool strict) const;
    [[nodiscard]] std::string store(const std::string& value_type, const std::string& place, const std::string& value,
                                    bool strict) const;
    [[nodiscard]] bool is_strict(const clang::Expr* lvalue);
    [[nodiscard]] const clang::MemberExpr* bit_field(const clang::Expr* lvalue) const;
    [[nodiscard]] std::string with_value(clang::QualType type, const std::string& value, const std::string& text);
    /// Texts: of declarations, and of calls.
    struct BitFieldBytes {
        std::string declarations, load, store;
    };
    [[nodiscard]] BitFieldBytes bytes_of(const clang::MemberExpr* member);
    [[nodiscard]] std::string bit_field_update(const clang::MemberExpr* member, const std::string& before,
                                               const std::string& statement, const std::string& result);
    [[nodiscard]] std::string plus(const std::string& pointer, const clang::Expr* typed, const std::string& elements,
                                   bool minus = false);
    [[nodiscard]] std::string minus(const clang::BinaryOperator* difference);
    [[nodiscard]] std::string convert(const clang::CastExpr* cast);
    /// In elements, as C. `of`: the expression from which the type comes.
    [[nodiscard]] std::string block(clang::QualType shared, const clang::Expr* of);
    [[nodiscard]] std::string block_of_array(clang::QualType shared);
    [[nodiscard]] std::string element_bytes(clang::QualType shared);
    /// The factor from steps of a pointer to this type to elements; empty for one.
    [[nodiscard]] std::string step(clang::QualType pointee);
    [[nodiscard]] std::string size_of(const clang::UnaryExprOrTypeTraitExpr* size);
    [[nodiscard]] std::string size_of_shared(clang::QualType type);

    // emit_expressions.cpp
    [[nodiscard]] std::string expression(const clang::Expr* expression);
    [[nodiscard]] std::string plain(const clang::Stmt* node);
    [[nodiscard]] std::string condition(const clang::Expr* expression);
    [[nodiscard]] std::string implicit_cast(const clang::ImplicitCastExpr* cast);
    [[nodiscard]] std::string explicit_cast(const clang::CStyleCastExpr* cast);
    [[nodiscard]] std::string binary(const clang::BinaryOperator* operation);
    [[nodiscard]] std::string compound_assignment(const clang::BinaryOperator* operation);
    [[nodiscard]] std::string unary(const clang::UnaryOperator* operation);
    [[nodiscard]] std::string increment(const clang::UnaryOperator* operation);
    [[nodiscard]] std::string conditional(const clang::BinaryConditionalOperator* conditional);
    [[nodiscard]] std::string call(const clang::CallExpr* call);
    [[nodiscard]] std::string compound_literal(const clang::CompoundLiteralExpr* literal);
    [[nodiscard]] bool touches_shared(const clang::Expr* expression) const;

    // emit_statements.cpp
    [[nodiscard]] std::string statement(const clang::Stmt* statement);
    void add_statement(const clang::Stmt* statement, Pieces& pieces);
    void add_expression(const clang::Expr* expression, Pieces& pieces, bool as_condition = false);
    void add_loop_condition(const clang::Stmt* loop, const clang::Expr* condition, Pieces& pieces);
    /// The pragma of OpenMP in the lines before a loop, which must be followed by it as it is; or empty.
    [[nodiscard]] std::string_view loop_pragma(const clang::ForStmt* loop) const;
    [[nodiscard]] std::string hinted_loop(const clang::AttributedStmt* hinted, const clang::ForStmt* loop);
    struct LoopStart;
    [[nodiscard]] LoopStart loop_start(const clang::ForStmt* loop, bool plain);
    [[nodiscard]] std::string for_loop(const clang::ForStmt* loop);
    [[nodiscard]] std::string for_loop(const clang::ForStmt* loop, bool plain);
    void explain_plain(const clang::ForStmt* loop);
    [[nodiscard]] std::string forall_body(const clang::ForStmt* loop, const clang::Expr* affinity,
                                          const std::string& is_nested);
    [[nodiscard]] std::string declaration_statement(const clang::DeclStmt* statement);
    [[nodiscard]] static bool calls(const clang::Stmt* statement);

    // emit_own.cpp
    [[nodiscard]] std::string own_column(const clang::ArraySubscriptExpr* subscript);
    [[nodiscard]] std::string own_place(const clang::Expr* lvalue);
    [[nodiscard]] std::string own_pointers();
    /// `hint`: the pragmas of the loops that a loop becomes.
    [[nodiscard]] std::string own_iterations(const clang::ForStmt* loop, const OwnLoop& own, const std::string& hint,
                                             const std::string& body);
    [[nodiscard]] std::string own_loop(const clang::ForStmt* loop, const std::string& nested, const std::string& hint,
                                       const std::string& otherwise);
    void explain(const clang::Stmt* statement, const std::string& text);

    // emit_near.cpp
    [[nodiscard]] std::string near_place(const clang::Expr* lvalue);
    [[nodiscard]] bool has_other_runs(const clang::ForStmt* loop, const NearLoop& known);
    [[nodiscard]] std::string near_loop(const clang::ForStmt* loop, const std::string& hint,
                                        const std::string& otherwise);

    // emit_reads.cpp
    struct BlockLoop;
    /// How the iterations of a loop by blocks are gone through.
    struct Counting {
        std::string condition; ///< of the first one
        std::string left;      ///< how many there are
        std::string step;
        std::string at_start; ///< of an iteration
    };
    [[nodiscard]] static std::string part_of(const std::string& whole, const clang::MemberExpr* member);
    using Places = std::map<std::string, std::string>; ///< C lvalues by the text that they stand for
    [[nodiscard]] std::string place_in(const Places& places, const clang::Expr* lvalue) const;
    void add_run(const clang::ArraySubscriptExpr* element, bool writes, const std::string& number, BlockLoop& out);
    void add_place(const clang::ArraySubscriptExpr* element, const std::string& name, BlockLoop& out);
    void add_near_run(const clang::ArraySubscriptExpr* element, const std::string& number, BlockLoop& out);
    void add_list(const clang::ArraySubscriptExpr* element, const ReadLoop& loop, const std::string& number,
                  BlockLoop& out);
    void add_copies(const ReadLoop& found, const std::string& number, BlockLoop& out);
    [[nodiscard]] ReadLoop read_loop(const clang::ForStmt* loop, std::string& reason, bool by_threads = false);
    [[nodiscard]] Counting counting(const clang::ForStmt* loop, const ReadLoop& found);
    [[nodiscard]] static Counting counting(const OwnLoop& own);
    /// A body by blocks in the ways in which it may run.
    struct Bodies {
        std::string usual, of_copies, near;
    };
    [[nodiscard]] std::string block_loop_text(const clang::ForStmt* loop, const ReadLoop& found, const BlockLoop& parts,
                                              const Counting& counting, const std::string& hint, const Bodies& bodies);
    /// `subject`: of what is explained. `with_near`: runs may be near that are neither read nor written in blocks.
    [[nodiscard]] std::string block_read_loop(const clang::ForStmt* loop, const std::string& hint,
                                              const std::string& otherwise, const std::string& subject,
                                              const OwnLoop* own = nullptr, bool with_near = true);

    // emit_declarations.cpp
    using Group = std::vector<const clang::Decl*>;
    /// Declarations that share their specifiers: their ranges overlap. One may define a structure.
    struct GroupRange {
        Group declarations;
        std::size_t begin;
        std::size_t end;
    };
    [[nodiscard]] std::vector<GroupRange> groups(const Group& declarations) const;
    /// One group. Text from begin to end.
    [[nodiscard]] std::string group(const Group& declarations, std::size_t begin, std::size_t end);
    [[nodiscard]] bool must_be_written(const clang::Decl* declaration) const;
    [[nodiscard]] std::string written(const clang::Decl* declaration);
    void declaration_pieces(const clang::Decl* declaration, Pieces& pieces);
    [[nodiscard]] std::string record(const clang::RecordDecl* record);
    void record_pieces(const clang::RecordDecl* record, Pieces& pieces);
    [[nodiscard]] std::string field(const clang::FieldDecl* field);
    [[nodiscard]] std::string variable(const clang::VarDecl* variable);
    [[nodiscard]] std::string shared_variable(const clang::VarDecl* variable);
    [[nodiscard]] clang::QualType without_const(clang::QualType type) const;
    [[nodiscard]] std::string shared_object(const clang::VarDecl* variable);
    [[nodiscard]] std::string static_pointer(const clang::VarDecl* variable, const std::string& declaration);
    [[nodiscard]] std::string type_definition(const clang::TypedefNameDecl* definition);
    [[nodiscard]] std::string function(const clang::FunctionDecl* function);
    [[nodiscard]] std::string function_head(const clang::FunctionDecl* function);
    [[nodiscard]] std::string attributes(const clang::Decl* declaration) const;
    [[nodiscard]] bool is_only_inline(const clang::Decl* declaration) const;
    [[nodiscard]] std::string end_of_file();
    [[nodiscard]] std::string quoted(const std::string& text) const;

    // emit_initial_values.cpp
    [[nodiscard]] bool is_null(const clang::Expr* value) const;
    [[nodiscard]] clang::QualType initialised_shape(const clang::VarDecl* variable);
    [[nodiscard]] bool rows_depend_on_threads(clang::QualType type) const;
    struct InitialValue;
    [[nodiscard]] bool has_braces(const clang::InitListExpr* list) const;
    [[nodiscard]] bool initial_values(clang::QualType type, const clang::Expr* value, InitialValue at,
                                      std::vector<InitialValue>& found);
    [[nodiscard]] std::string too_many(const clang::VarDecl* variable, const std::string& values,
                                       const std::string& elements) const;
    [[nodiscard]] std::string scattered_values(const clang::VarDecl* variable);
    [[nodiscard]] bool is_assigned_at_start(const clang::VarDecl* variable) const;
    void begin_function(const clang::FunctionDecl* function);
    void hoist(const clang::VarDecl* variable);
    [[nodiscard]] std::string name_of(const clang::VarDecl* variable) const;

    // emit_nested.cpp
    [[nodiscard]] static const clang::FunctionDecl* nested_function(const clang::Stmt* statement);
    [[nodiscard]] std::string nested_definition(const clang::IfStmt* definition, const clang::FunctionDecl* function);
    struct Frame;
    [[nodiscard]] Frame frame_of(const clang::IfStmt* definition);
    [[nodiscard]] std::string as_at_file_scope(const clang::Stmt* body,
                                               std::map<const clang::VarDecl*, std::string> captured);
    [[nodiscard]] std::string nested_return(const clang::Expr* expression);

    clang::ASTContext& context_;
    clang::SourceManager& sources_;
    const Prepared& prepared_;
    Types& types_;
    Report& report_;
    int threads_; ///< 0: any number
    std::string file_;
    std::set<const clang::TagDecl*> named_; ///< anonymous structures that have been given a name
    std::string initialisers_;              ///< of pointers-to-shared: statements for the start of the program
    std::map<const clang::VarDecl*, std::string> hoisted_;  ///< static objects that these name, and their names there
    std::string hoisted_text_;                              ///< their declarations, in front of the function
    std::map<const clang::VarDecl*, std::string> captured_; ///< of a function around the nested one being written
    int objects_ = 0;
    int plain_loops_ = 0;   ///< the loops around that a pragma wants nested and unchanged
    std::string loop_hint_; ///< pragmas, as operators, of the loop that is written next
    int foralls_ = 0;       ///< the upc_forall with an affinity around the statement

    Optimisations optimisations_;
    OwnLoops own_loops_;
    BlockReads block_reads_;
    NearLoops near_loops_;
    Places reads_;     ///< what the loop that is being written has read already, and where
    Places near_runs_; ///< consecutive elements that are near
    std::map<const clang::VarDecl*, std::string> walking_; ///< those of them that the loop moves
    const clang::ForStmt* near_loop_ = nullptr;            ///< that is being written with loads and stores
    Places near_;                                    ///< pointers that it has to what is near, by what they stand for
    Places writes_;                                  ///< what it writes in blocks, and where
    const clang::FunctionDecl* function_ = nullptr;  ///< that is being written
    std::optional<OwnLoop> own_loop_;                ///< whose body is being written
    std::vector<const clang::VarDecl*> own_arrays_;  ///< whose own elements that body accesses
    std::vector<const clang::VarDecl*> own_columns_; ///< the same by `k * THREADS + MYTHREAD`
    std::string inline_functions_;                   ///< declarations of functions that are only inline
};

} // namespace upcc
