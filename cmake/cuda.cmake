# libsinew-cuda: crowds on the GPU, where nvcc is found. Nothing else needs it. The layout of tiles and the poses of its
# tests are plain C and always built, so that they are tested without a GPU.
option(SINEW_CUDA "Build libsinew-cuda where nvcc is found" ON)

add_library(sinew-cuda-host OBJECT src/cuda/tiles.c src/cuda/poses.c)
target_include_directories(sinew-cuda-host PRIVATE include src)

include(CheckLanguage)
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
set_source_files_properties(src/cuda/drive.cu PROPERTIES COMPILE_OPTIONS -fmad=false)
add_library(sinew-cuda STATIC ${cuda_sources} $<TARGET_OBJECTS:sinew-cuda-host>)
target_include_directories(sinew-cuda PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
                           PRIVATE src)
target_compile_features(sinew-cuda PRIVATE cuda_std_17)
target_link_libraries(sinew-cuda PUBLIC sinew-runtime CUDA::cudart_static)

include(GNUInstallDirs)
install(TARGETS sinew-cuda ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
