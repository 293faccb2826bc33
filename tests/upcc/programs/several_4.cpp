// C++, which counts the words of a line.
#include <sstream>
#include <string>

extern "C" int words_in_cpp(const char* line) {
    std::istringstream words{line};
    int count = 0;
    for (std::string word; words >> word;) ++count;
    return count;
}
