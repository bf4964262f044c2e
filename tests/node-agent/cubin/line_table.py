"""Decodes a cubin's line table slowly and on its own, to compare with: each sequence is a list of rows, and each place is
searched for in all of them. It reads what compilers write, and checks nothing."""

import re
import struct
from collections import namedtuple

Function = namedtuple("Function", "name section start size")
Row = namedtuple("Row", "address file line caller name")

FRAMES_MAX = 32
DROPPED = Function("", 0, 0, 0)  # of a sequence whose function the linker dropped


class Bytes:
    def __init__(self, data, at, end):
        self.data, self.at, self.end = data, at, end

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def uleb(self):
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self):
        start = self.at
        value, bits = self.uleb(), 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def text(self):
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at:end].decode()
        self.at = end + 1
        return text


class Sequence:
    """Rows of one section, numbered from 1 by their callers; end is the address behind them."""

    def __init__(self):
        self.section, self.rows, self.end = 0, [], 0

    def row_at(self, address):
        """The last row at or before the address."""
        found = None
        if address < self.end:
            for row in self.rows:
                if row.address <= address:
                    found = row
        return found


class Cubin:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.read_sections()
        self.read_symbols()
        self.read_relocations()
        self.sequences, self.strings_end = [], 0
        table = self.sections[".debug_line"]
        self.table_offset = table["offset"]
        units = Bytes(self.data, table["offset"], table["offset"] + table["size"])
        while units.at < units.end:
            size = units.take("I")
            self.read_unit(Bytes(self.data, units.at, units.at + size))
            units.at += size

    def text(self, at):
        return Bytes(self.data, at, len(self.data)).text()

    def read_sections(self):
        offset, = struct.unpack_from("<Q", self.data, 40)
        count, names = struct.unpack_from("<HH", self.data, 60)
        fields = ("name", "type", "flags", "address", "offset", "size", "link", "info", "alignment", "item")
        headers = [dict(zip(fields, struct.unpack_from("<IIQQQQIIQQ", self.data, offset + 64 * i))) for i in range(count)]
        self.headers = headers
        self.sections = {}
        for index, header in enumerate(headers):
            header["index"] = index
            self.sections.setdefault(self.text(headers[names]["offset"] + header["name"]), header)

    def read_symbols(self):
        table = self.sections[".symtab"]
        names = self.headers[table["link"]]["offset"]
        self.symbols, self.functions = [], []
        for at in range(table["offset"], table["offset"] + table["size"], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            symbol = Function(self.text(names + name), section, value, size)
            self.symbols.append(symbol)
            if info & 15 == 2 and 0 < section < 0xff00 and size:
                self.functions.append(symbol)

    def read_relocations(self):
        table = self.sections[".debug_line"]["index"]
        self.targets = {}
        for header in self.headers:
            if header["type"] not in (4, 9) or header["info"] != table:
                continue
            for at in range(header["offset"], header["offset"] + header["size"], header["item"]):
                place, info = struct.unpack_from("<QQ", self.data, at)
                addend = struct.unpack_from("<q", self.data, at + 16)[0] if header["type"] == 4 else None
                self.targets[place] = (self.symbols[info >> 32], addend)

    def read_unit(self, unit):
        version, size = unit.take("HI")
        assert version == 2, version
        program = unit.at + size
        unit.minimum, _, unit.base, unit.range, unit.opcodes = unit.take("BBbBB")
        unit.at += unit.opcodes - 1
        unit.files, directories = {0: "-"}, {0: ""}
        while name := unit.text():
            directories[len(directories)] = name + "/"
        while name := unit.text():
            directory, _, _ = unit.uleb(), unit.uleb(), unit.uleb()
            unit.files[len(unit.files)] = ("" if name[0] == "/" else directories[directory]) + name
        # The place of the strings may be missing: then it is behind those of the unit before.
        unit.strings = (unit.take("I") if program - unit.at >= 4 else 0) or self.strings_end
        unit.at = program
        while unit.at < unit.end:
            self.sequences.append(self.read_sequence(unit))

    def read_sequence(self, unit):
        sequence = Sequence()
        address, file, line, caller, name = 0, 1, 1, 0, None
        while True:
            opcode, is_row = unit.take("B"), False
            if opcode >= unit.opcodes:
                address += (opcode - unit.opcodes) // unit.range * unit.minimum
                line += unit.base + (opcode - unit.opcodes) % unit.range
                is_row = True
            elif opcode == 1:
                is_row = True
            elif opcode == 2:
                address += unit.uleb() * unit.minimum
            elif opcode == 3:
                line += unit.sleb()
            elif opcode == 4:
                file = unit.uleb()
            elif opcode == 5:
                unit.uleb()
            elif opcode == 8:
                address += (255 - unit.opcodes) // unit.range * unit.minimum
            elif opcode == 9:
                address += unit.take("H")
            elif opcode == 0:
                unit.uleb()
                kind = unit.take("B")
                if kind == 1:
                    sequence.end = address
                    return sequence
                if kind == 2:
                    symbol, addend = self.targets.get(unit.at - self.table_offset, (DROPPED, 0))
                    kept = unit.take("Q")
                    sequence.section = symbol.section
                    address = symbol.start + (kept if addend is None else addend)
                elif kind == 0x90:
                    caller, name = unit.uleb(), unit.uleb()
                elif kind == 0x91:
                    name = unit.uleb()
                else:
                    raise ValueError(f"extended opcode {kind:#x}")
            else:
                assert opcode in (6, 7), opcode
            if is_row:
                text = self.name(unit.strings + name) if caller else None
                sequence.rows.append(Row(address, unit.files[file], line, caller, text))

    def name(self, offset):
        text = self.text(self.sections[".debug_str"]["offset"] + offset)
        self.strings_end = max(self.strings_end, offset + len(text) + 1)
        return text

    def chain(self, name, offset):
        """The frames at a function's offset, innermost first: (function, file, line)."""
        asked = [function for function in self.functions if function.name == name]
        assert len(asked) == 1, name
        section, address = asked[0].section, asked[0].start + offset
        around = [f for f in self.functions if f.section == section and f.start <= address < f.start + f.size]
        own = min(around, key=lambda function: function.size)
        plain = re.sub(r"^\$.*\$(?=[^$]+$)", "", own.name)
        for sequence in self.sequences:
            row = sequence.row_at(address) if sequence.section == section else None
            if row and row.address >= own.start and row.line:
                chain = []
                while row and len(chain) < FRAMES_MAX:
                    chain.append((row.name if row.caller else plain, row.file, row.line))
                    row = sequence.rows[row.caller - 1] if row.caller else None
                return chain
        return [(plain, "-", 0)] if own != asked[0] else []
