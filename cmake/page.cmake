# The page of `sinew view`: web/ and three.js bundled with the runtime as WebAssembly, as an array in C. Without npm's
# packages (`npm ci`) or a compiler for WebAssembly the tool is built all the same, and `sinew view` says what to do.
find_program(NODE node)
find_program(WASM_CLANG clang)
find_program(WASM_LINKER wasm-ld)
set(page_source ${CMAKE_BINARY_DIR}/page_template.c)
if(NODE AND WASM_CLANG AND WASM_LINKER AND EXISTS /usr/lib/wasm32-wasi/libc.a
   AND EXISTS ${CMAKE_SOURCE_DIR}/node_modules/three/package.json
   AND EXISTS ${CMAKE_SOURCE_DIR}/node_modules/esbuild/package.json)
  file(GLOB page_parts CONFIGURE_DEPENDS web/*.js web/*.css web/*.html web/*.wgsl web/build.mjs web/skin/*.* web/skin/wgsl/*)
  file(GLOB page_runtime CONFIGURE_DEPENDS src/runtime/*)
  set(page_wasm ${CMAKE_BINARY_DIR}/page_runtime.wasm)
  set(basic_wasm ${CMAKE_BINARY_DIR}/page_runtime_basic.wasm)
  foreach(wasm ${page_wasm} ${basic_wasm})
    add_custom_command(
      OUTPUT ${wasm}
      COMMAND ${NODE} ${CMAKE_SOURCE_DIR}/web/wasm.mjs ${WASM_CLANG} ${wasm} $<$<STREQUAL:${wasm},${basic_wasm}>:-DSN_RT_BASIC>
      DEPENDS ${page_runtime} include/sinew/runtime.h web/wasm.c web/wasm.mjs
      COMMENT "Compiling the runtime to WebAssembly"
      COMMAND_EXPAND_LISTS)
  endforeach()
  add_custom_target(web-runtime ALL DEPENDS ${page_wasm} ${basic_wasm}) # of the npm package
  add_custom_command(
    OUTPUT ${page_source}
    COMMAND ${NODE} ${CMAKE_SOURCE_DIR}/web/build.mjs ${CMAKE_BINARY_DIR}
    DEPENDS ${page_parts} ${page_wasm} package-lock.json
    COMMENT "Bundling the page of sinew view")
else()
  message(STATUS "sinew view: no page (needs `npm ci`, clang, lld and wasi-libc)")
  set(page_source ${CMAKE_BINARY_DIR}/page_none.c)
  file(CONFIGURE OUTPUT ${page_source} CONTENT "#include \"cli/page.h\"\n
const unsigned char sn_page_template[1] = {0};\nconst size_t sn_page_template_size = 0;\n")
endif()
