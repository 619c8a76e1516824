# libsinew-cuda: crowds on the GPU, where nvcc is found. Nothing else needs it. The layout of tiles and the poses of its
# tests are plain C and always built, so that they are tested without a GPU.
option(SINEW_CUDA "Build libsinew-cuda where nvcc is found" ON)

add_library(sinew-cuda-host OBJECT src/cuda/tiles.c src/cuda/fans.c src/cuda/rows.c src/cuda/sums.c src/cuda/poses.c)
target_include_directories(sinew-cuda-host PRIVATE include src)

include(CheckLanguage)

# The kernels as C++ on the processor (test/cuda/emulated), under the sanitizers: CI has no GPU.
check_language(CXX)
if(SINEW_TESTS AND CMAKE_CXX_COMPILER AND NOT SINEW_SANITIZE AND NOT SINEW_SCALAR AND NOT SINEW_FUZZ)
  enable_language(CXX)
  file(GLOB emulated_sources CONFIGURE_DEPENDS src/cuda/*.cu)
  list(REMOVE_ITEM emulated_sources ${CMAKE_SOURCE_DIR}/src/cuda/time.cu) # there is nothing to time
  set(emulated ${CMAKE_SOURCE_DIR}/test/cuda/emulated)
  foreach(source ${emulated_sources} ${CMAKE_SOURCE_DIR}/test/cuda/test_cuda.cu)
    get_filename_component(name ${source} NAME_WE)
    set(made ${CMAKE_BINARY_DIR}/emulated/${name}.cpp)
    add_custom_command(OUTPUT ${made} DEPENDS ${source} ${emulated}/launches.sed
                       COMMAND sed -E -f ${emulated}/launches.sed ${source} > ${made})
    list(APPEND emulated_made ${made})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/emulated)
  add_executable(sinew-cuda-emulated ${emulated}/emulated.cpp ${emulated_made} $<TARGET_OBJECTS:sinew-cuda-host>)
  target_include_directories(sinew-cuda-emulated PRIVATE ${emulated} include src)
  target_compile_features(sinew-cuda-emulated PRIVATE cxx_std_17)
  target_compile_options(sinew-cuda-emulated PRIVATE -O1 -g1 -ffp-contract=off -Wno-unknown-pragmas -include cuda_runtime.h
                         -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(sinew-cuda-emulated PRIVATE -fsanitize=address,undefined)
  target_link_libraries(sinew-cuda-emulated PRIVATE sinew-runtime)
endif()

if(SINEW_CUDA AND NOT SINEW_SANITIZE AND NOT SINEW_SCALAR AND NOT SINEW_FUZZ)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA: skipped (no nvcc, or a build for tests of the CPU)")
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-virtual 90) # Hopper's own code; other cards since Ampere compile theirs when first used
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.cu)
set_source_files_properties(src/cuda/drive.cu src/cuda/helpers.cu src/cuda/terms.cu PROPERTIES COMPILE_OPTIONS -fmad=false)
add_library(sinew-cuda-objects OBJECT ${cuda_sources})
target_include_directories(sinew-cuda-objects PRIVATE include src)
target_compile_features(sinew-cuda-objects PRIVATE cuda_std_17)
# Static for programs that want it; shared because the tool loads it when it is asked for a crowd, and not before: CUDA's
# library allocates memory as soon as it is there.
foreach(kind STATIC SHARED)
  string(TOLOWER sinew-cuda-${kind} target)
  add_library(${target} ${kind} $<TARGET_OBJECTS:sinew-cuda-objects> $<TARGET_OBJECTS:sinew-cuda-host>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sinew-cuda LINKER_LANGUAGE CUDA)
  target_link_libraries(${target} PUBLIC sinew-runtime CUDA::cudart_static)
endforeach()

include(GNUInstallDirs)
install(TARGETS sinew-cuda-static sinew-cuda-shared ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
