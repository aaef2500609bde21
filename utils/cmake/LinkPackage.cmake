# Makes PACKAGE a folder of links to the entries of SOURCE.
file(MAKE_DIRECTORY ${PACKAGE})
file(GLOB entries RELATIVE ${SOURCE} ${SOURCE}/*)
foreach(entry ${entries})
  if(NOT entry MATCHES "^_dtorch.*\\.so$" AND NOT EXISTS ${PACKAGE}/${entry})
    file(CREATE_LINK ${SOURCE}/${entry} ${PACKAGE}/${entry} SYMBOLIC)
  endif()
endforeach()
