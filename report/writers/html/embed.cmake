# Turns the viewer's files into C: style and scripts go into the page, their hashes into its security policy, and the
# page is cut at its two markers. The scripts become one, in the order given, inside one function.
# cmake -DPAGE=flamegraph.html -DSTYLE=flamegraph.css "-DSCRIPTS=a.js;b.js" -DOUTPUT=html_page.c -P embed.cmake
cmake_minimum_required(VERSION 3.18)

# A SHA-256 in hexadecimal as base64: ten groups of three bytes, then two bytes and one '='.
function(hash_to_base64 hex result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(at RANGE 0 54 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${digit} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING "${hex}" 60 4 group)
  foreach(shift 10 4)
    math(EXPR digit "(0x${group} >> ${shift}) & 63")
    string(SUBSTRING "${alphabet}" ${digit} 1 letter)
    string(APPEND text "${letter}")
  endforeach()
  math(EXPR digit "(0x${group} << 2) & 63")
  string(SUBSTRING "${alphabet}" ${digit} 1 letter)
  set(${result} "${text}${letter}=" PARENT_SCOPE)
endfunction()

function(put_in_page text text_marker hash_marker)
  foreach(forbidden "</s" "<!--" "\r")
    string(FIND "${text}" "${forbidden}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${text_marker}: has text that would end or change its element in a page")
    endif()
  endforeach()
  string(SHA256 hash "${text}")
  hash_to_base64(${hash} base64)
  string(REPLACE "${hash_marker}" "${base64}" page "${page}")
  string(REPLACE "${text_marker}" "${text}" page "${page}")
  set(page "${page}" PARENT_SCOPE)
endfunction()

# Appends one part, page[begin, end), to the generated source.
function(write_part name begin end)
  math(EXPR length "${end} - ${begin}")
  string(SUBSTRING "${page}" ${begin} ${length} text)
  string(HEX "${text}" hex)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
    bytes "${bytes}")
  file(APPEND "${OUTPUT}.new" "
static const unsigned char ${name}_bytes[] = {
${bytes}
};
const struct html_page_part html_page_${name} = { ${name}_bytes, sizeof(${name}_bytes) };
")
endfunction()

function(find_marker marker result)
  string(FIND "${page}" "${marker}" first)
  string(FIND "${page}" "${marker}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${PAGE}: ${marker} must be there once")
  endif()
  set(${result} ${first} PARENT_SCOPE)
endfunction()

file(READ "${PAGE}" page)
file(READ "${STYLE}" style)
put_in_page("${style}" "@STYLE@" "@STYLE_HASH@")
set(script "\"use strict\";\n(() => {\n")
foreach(file IN LISTS SCRIPTS)
  file(READ "${file}" text)
  string(APPEND script "${text}\n")
endforeach()
put_in_page("${script}})();\n" "@SCRIPT@" "@SCRIPT_HASH@")
find_marker("@TITLE@" title)
find_marker("@PROFILE@" profile)
string(LENGTH "${page}" length)
math(EXPR after_title "${title} + 7")
math(EXPR after_profile "${profile} + 9")

file(WRITE "${OUTPUT}.new" "/* Made by embed.cmake. */\n#include \"html_page.h\"\n")
write_part(before_title 0 ${title})
write_part(before_profile ${after_title} ${profile})
write_part(end ${after_profile} ${length})
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
