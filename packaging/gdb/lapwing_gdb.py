"""How gdb prints Lapwing's objects: global arrays with their own elements, element references with their values, indices and domains.

    (gdb) source lapwing_gdb.py
    (gdb) print a
    $1 = array "a" of 10 x 20, own part [0, 5) x [0, 20) = {0, 0.5, 1, ...}
    (gdb) print element
    $2 = (3, 4) of array "a", own: 1.5

An installed shared library brings it along; for static ones, say `source` in .gdbinit.
"""

import re
import struct

import gdb
import gdb.printing


def text_of(string):
    """A std::string of libstdc++; None where it is another."""
    try:
        return string["_M_dataplus"]["_M_p"].string(length=int(string["_M_string_length"]))
    except gdb.error:
        return None


def array_name(array):
    name = text_of(array["title_"]["name"])
    return f'array "{name}"' if name else "array"


def elements_of(array):
    """Of a std::array."""
    elements = array["_M_elems"]
    low, high = elements.type.strip_typedefs().range()
    return [elements[k] for k in range(low, high + 1)]


def numbers(array):
    return [int(one) for one in elements_of(array)]


def index_numbers(index):
    """Of an Index, which is a std::array or has one."""
    return numbers(index) if "_M_elems" in [one.name for one in index.type.strip_typedefs().fields()] else numbers(index["values_"])


def bounds(first, size, stride=1):
    return f"[{first}, {first + size})" if stride == 1 or size < 2 else f"[{first}, {first + (size - 1) * stride + 1}) by {stride}"


class Box:
    """A detail::arrays::DenseBox."""

    def __init__(self, box):
        self.first, self.extent, self.stride = index_numbers(box["first_"]), numbers(box["extent_"]), numbers(box["stride_"])

    def empty(self):
        return self.extent[0] == 0

    def offset(self, index):
        """In elements; None for an index that it does not hold."""
        from_first = [i - first for i, first in zip(index, self.first)]
        if any(not 0 <= place < extent for place, extent in zip(from_first, self.extent)):
            return None
        return from_first[-1] + sum(place * stride for place, stride in zip(from_first[:-1], self.stride))

    def indices(self):
        index = list(self.first)
        while True:
            yield index
            for d in reversed(range(len(index))):
                index[d] += 1
                if index[d] < self.first[d] + self.extent[d]:
                    break
                index[d] = self.first[d]
            else:
                return

    def text(self):
        return " x ".join(bounds(first, extent) for first, extent in zip(self.first, self.extent))


class GlobalArrayPrinter:
    """Shows the rank's own part, as far as it is one block."""

    def __init__(self, value):
        self.value, self.state, self.core = value, value["state_"], value["core_"]
        self.box = Box(self.state["box"])

    def to_string(self):
        if int(self.core["own_rank"]) < 0:
            return "closed array"
        extents = " x ".join(str(one) for one in index_numbers(self.core["extents"]["values_"]))
        if self.box.empty():
            return f"{array_name(self.value)} of {extents}, whose own part is not a block"
        return f"{array_name(self.value)} of {extents}, own part {self.box.text()}"

    def children(self):
        if int(self.core["own_rank"]) < 0 or self.box.empty():
            return
        for k, index in enumerate(self.box.indices()):
            yield f"[{k}]", (self.state["own"] + self.box.offset(index)).dereference()

    def display_hint(self):
        return "array"


class ElementReferencePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        array = self.value["array_"].dereference()
        index = index_numbers(self.value["index_"])
        name = f"({', '.join(str(one) for one in index)}) of {array_name(array)}"
        state = array["state_"]
        if int(self.value["address_"]) != 0:
            own = Box(state["box"]).offset(index) is not None
            return f"{name}, {'own' if own else 'here'}: {self.value['address_'].dereference()}"
        return f"{name}, elsewhere"


class DomainPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return " x ".join(range_text(one) for one in elements_of(self.value["ranges_"]))


def range_text(value):
    return bounds(int(value["first_"]), int(value["size_"]), int(value["stride_"]))


class TextPrinter:
    def __init__(self, value, text):
        self.value, self.text = value, text

    def to_string(self):
        return self.text(self.value)


class CArrayPrinter:
    """lapwing_array* of C, whose start is lapwing_array_head: what inline functions reach."""

    LAYOUT = "=QQQ8q8Q8Qii"
    FORMATS = {(1, 1): "b", (1, 2): "h", (1, 4): "i", (1, 8): "q", (2, 1): "B", (2, 2): "H", (2, 4): "I", (2, 8): "Q", (3, 4): "f", (3, 8): "d"}
    # FNV-1a of "array", as the library marks it.
    MARK = 0xCBF29CE484222325
    for letter in b"array":
        MARK = (MARK ^ letter) * 0x100000001B3 % 2**64

    def __init__(self, value):
        self.value = value

    def read(self, address, form):
        return struct.unpack(form, gdb.selected_inferior().read_memory(address, struct.calcsize(form)).tobytes())

    def to_string(self):
        address = int(self.value)
        if address == 0:
            return "no array"
        head = self.read(address, self.LAYOUT)
        if head[0] != self.MARK:
            return f"freed array, or none, at {address:#x}"
        kind, size, base, dimensions = head[1] >> 48, head[1] % 2**48, head[2], head[27]
        lower, extent, stride = head[3:11][:dimensions], head[11:19][:dimensions], head[19:27][:dimensions]
        if extent[0] == 0:
            return f"array of {dimensions} dimensions, {size} bytes an element; none is near"
        near = " x ".join(bounds(first, count) for first, count in zip(lower, extent))
        text = f"array of {dimensions} dimensions, {size} bytes an element; near are {near}"
        form = self.FORMATS.get((kind, size))
        if form is None:
            return text
        values = []
        for k in range(min(extent[-1], 5)):
            values.append(f"{self.read(base + k * stride[-1], '=' + form)[0]:g}")
        return f"{text} = {{{', '.join(values)}{', ...' if extent[-1] > 5 or dimensions > 1 else ''}}}"


def printer_of(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and kind.target().unqualified().strip_typedefs().tag in ("lapwing_array",):
        return CArrayPrinter(value)
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return None
    name = re.sub(r"<.*", "", kind.unqualified().tag or "")
    return {
        "lapwing::GlobalArray": GlobalArrayPrinter,
        "lapwing::ElementReference": ElementReferencePrinter,
        "lapwing::Domain": DomainPrinter,
        "lapwing::Range": lambda one: TextPrinter(one, range_text),
        "lapwing::Rank": lambda one: TextPrinter(one, lambda rank: f"rank {int(rank['value'])}"),
        "lapwing::Extents": lambda one: TextPrinter(one, lambda extents: " x ".join(str(n) for n in index_numbers(extents["values_"]))),
    }.get(name, lambda one: None)(value)


class Printers(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__("lapwing")

    def __call__(self, value):
        return printer_of(value)


gdb.printing.register_pretty_printer(gdb.current_objfile(), Printers(), replace=True)
