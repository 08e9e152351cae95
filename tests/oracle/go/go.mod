// The modules are those of the control plane: tests/oracle/build.py names that list with -modfile.
module evenspread.io/oracle

go 1.26.0
