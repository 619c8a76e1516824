# The library of the Python module: everything in one file that exports Sinew's own names only. OpenBLAS is inside, so that
# neither numpy's (which Python may have loaded first, with other kernels, or one that threads may not share) nor ours gets in
# the other's way. setup.py puts it into the wheel, with what it needs beyond the C library.
find_library(STATIC_OPENBLAS_LIBRARY libopenblas.a PATH_SUFFIXES openblas-pthread)
find_library(STATIC_LAPACKE_LIBRARY liblapacke.a)
find_library(STATIC_CXSPARSE_LIBRARY libcxsparse.a)
find_library(GFORTRAN_LIBRARY NAMES libgfortran.so.5 gfortran)
if(STATIC_OPENBLAS_LIBRARY AND STATIC_LAPACKE_LIBRARY AND STATIC_CXSPARSE_LIBRARY AND GFORTRAN_LIBRARY
   AND NOT SINEW_SANITIZE AND NOT SINEW_FUZZ)
  add_library(sinew-python SHARED $<TARGET_OBJECTS:sinew> $<TARGET_OBJECTS:sinew-runtime>)
  set_target_properties(sinew-python PROPERTIES LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python
                        BUILD_RPATH $ORIGIN BUILD_RPATH_USE_ORIGIN ON)
  target_link_libraries(sinew-python PRIVATE ${STATIC_LAPACKE_LIBRARY} ${STATIC_OPENBLAS_LIBRARY} ${STATIC_CXSPARSE_LIBRARY}
                        PkgConfig::JANSSON PkgConfig::ZLIB ${GFORTRAN_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)
  target_link_options(sinew-python PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
endif()
