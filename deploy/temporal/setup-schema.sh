#!/bin/sh
# Creates, or brings up to date, both databases of Temporal on PostgreSQL: persistence and visibility.
# Runs once per `docker compose up`, in the admin-tools image; safe to run again.
#
# POSTGRES_HOST, POSTGRES_PORT, POSTGRES_USER; SQL_PASSWORD is read by temporal-sql-tool itself.
set -eu

schemas=/etc/temporal/schema/postgresql/v12

sql_tool() {
  database=$1
  shift
  temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_HOST" -p "$POSTGRES_PORT" -u "$POSTGRES_USER" --db "$database" "$@"
}

prepare() {
  database=$1
  versions=$2
  sql_tool "$database" create
  # A database that has its version table keeps it; the first call on a new one makes it.
  sql_tool "$database" setup-schema -v 0.0
  sql_tool "$database" update-schema -d "$schemas/$versions/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
