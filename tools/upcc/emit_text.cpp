// Ranges of the parsed text, and their replacements.
#include "emit.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

std::size_t Emitter::offset(SourceLocation location) const {
    return sources_.getFileOffset(sources_.getFileLoc(location));
}

std::size_t Emitter::end_offset(SourceLocation last) const {
    return offset(Lexer::getLocForEndOfToken(sources_.getFileLoc(last), 0, sources_, context_.getLangOpts()));
}

std::string Emitter::line_marker(std::size_t at) const {
    const PresumedLoc place = sources_.getPresumedLoc(
        sources_.getLocForStartOfFile(sources_.getMainFileID()).getLocWithOffset(static_cast<int>(at)));
    if (place.isInvalid()) return "\n";
    return "\n# " + std::to_string(place.getLine()) + " \"" + quoted(place.getFilename()) + "\"\n";
}

std::string Emitter::source(std::size_t begin, std::size_t end) const {
    const std::string& text = prepared_.text;
    std::string out;
    for (auto value = prepared_.size_brackets.lower_bound(begin);
         value != prepared_.size_brackets.end() && *value < end; ++value) {
        std::size_t closing = *value;
        for (int depth = 0; closing < end; ++closing) {
            depth += text[closing] == '(' ? 1 : text[closing] == ')' ? -1 : 0;
            if (depth == 0) break;
        }
        if (*value < begin || closing >= end) continue;
        const std::size_t operation = text.find('+', *value);
        out += text.substr(begin, operation - begin);
        out.append(static_cast<std::size_t>(std::count(text.data() + operation, text.data() + closing, '\n')), '\n');
        begin = closing;
    }
    return out + text.substr(begin, end - begin);
}

std::string Emitter::splice(std::size_t begin, std::size_t end, Pieces pieces) const {
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    std::string out;
    std::size_t done = begin;
    for (const Piece& piece : pieces) {
        if (piece.begin < done || piece.end > end) continue;
        out += source(done, piece.begin) + piece.text;
        done = piece.end;
        const std::string before = source(piece.begin, piece.end);
        const auto lines = std::count(before.begin(), before.end(), '\n');
        const auto have = std::count(piece.text.begin(), piece.text.end(), '\n');
        if (lines == have) continue;
        if (have < lines && before.find("\n#") == before.npos) out.append(static_cast<std::size_t>(lines - have), '\n');
        else out += line_marker(piece.end);
    }
    return out + source(done, end);
}

std::size_t Emitter::after_semicolon(std::size_t at) const {
    const std::string& text = prepared_.text;
    while (at < text.size() && text[at] != ';') {
        const bool directive = text[at] == '#' && at > 0 && text[at - 1] == '\n';
        if (directive) at = std::min(text.find('\n', at), text.size());
        else ++at;
    }
    return std::min(at + 1, text.size());
}

std::size_t Emitter::statement_end(const Stmt* statement) const {
    if (isa<CompoundStmt, DeclStmt>(statement)) return end_offset(statement->getEndLoc());
    if (isa<NullStmt>(statement)) return offset(statement->getBeginLoc()) + 1;
    if (const auto* const one = dyn_cast<IfStmt>(statement))
        return statement_end(one->getElse() != nullptr ? one->getElse() : one->getThen());
    if (const auto* const one = dyn_cast<ForStmt>(statement)) return statement_end(one->getBody());
    if (const auto* const one = dyn_cast<WhileStmt>(statement)) return statement_end(one->getBody());
    if (const auto* const one = dyn_cast<SwitchStmt>(statement)) return statement_end(one->getBody());
    if (const auto* const one = dyn_cast<LabelStmt>(statement)) return statement_end(one->getSubStmt());
    if (const auto* const one = dyn_cast<SwitchCase>(statement)) return statement_end(one->getSubStmt());
    if (const auto* const one = dyn_cast<AttributedStmt>(statement)) return statement_end(one->getSubStmt());
    return after_semicolon(end_offset(statement->getEndLoc()));
}

std::string Emitter::quoted(const std::string& text) const {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

} // namespace upcc
