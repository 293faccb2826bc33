#include "report.hpp"

#include <iostream>

namespace upcc {

void Report::add(Kind kind, std::size_t offset, const std::string& text) {
    add_at_source(kind, prepared_->source_of(offset), text);
}

void Report::add_at_source(Kind kind, std::size_t offset, const std::string& text) {
    const Place place = positions_.at(offset);
    std::string message = place.file + ":" + std::to_string(place.line) + ":";
    if (place.column > 0) message += std::to_string(place.column) + ":";
    message += kind == Kind::error     ? " error: "
               : kind == Kind::warning ? " warning: "
               : kind == Kind::note    ? " note: "
                                       : " remark: ";
    message += text + "\n";
    if (!told_.insert(message).second) return;
    if (kind == Kind::error) ++errors_;
    const std::string line = source_line(place.file, place.line);
    if (!line.empty() && place.column > 0) {
        message += line + "\n";
        for (unsigned k = 0; k + 1 < place.column && k < line.size(); ++k) message += line[k] == '\t' ? '\t' : ' ';
        message += "^\n";
    }
    std::cerr << message;
}

} // namespace upcc
