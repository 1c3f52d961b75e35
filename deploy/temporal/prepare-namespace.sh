#!/bin/sh
# Gives a Temporal namespace what Agent-Reach needs: retention (dead letters live as long as the failed runs they
# are) and the search attributes of workflows/search-attributes.ts. Safe to run again, on an existing namespace too.
#
#   TEMPORAL_ADDRESS=127.0.0.1:7233 ./prepare-namespace.sh
#
# TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE (default: default), RETENTION (default: 7d).
set -eu

namespace=${TEMPORAL_NAMESPACE:-default}
retention=${RETENTION:-7d}
search_attributes='ReachAbility ReachAgent ReachVersion ReachSource ReachStatus ReachParent'

attempt=0
until temporal operator cluster health >/dev/null 2>&1; do
  attempt=$((attempt + 1))
  if [ "$attempt" -ge 60 ]; then
    echo "Temporal does not answer at ${TEMPORAL_ADDRESS:-127.0.0.1:7233} after $attempt tries" >&2
    exit 1
  fi
  sleep 1
done

if temporal operator namespace describe --namespace "$namespace" >/dev/null 2>&1; then
  temporal operator namespace update --namespace "$namespace" --retention "$retention" >/dev/null
else
  temporal operator namespace create --namespace "$namespace" --retention "$retention" >/dev/null
fi

# A new namespace takes some seconds to reach the server's caches.
attempt=0
until known=$(temporal operator search-attribute list --namespace "$namespace" 2>/dev/null); do
  attempt=$((attempt + 1))
  if [ "$attempt" -ge 60 ]; then
    echo "Namespace $namespace was created but cannot be read yet; run this again" >&2
    exit 1
  fi
  sleep 1
done
for attribute in $search_attributes; do
  case " $(echo "$known" | awk '{ print $1 }' | tr '\n' ' ') " in
    *" $attribute "*) ;;
    *) temporal operator search-attribute create --namespace "$namespace" --name "$attribute" --type Keyword >/dev/null ;;
  esac
done

echo "namespace $namespace: retention $retention, search attributes $search_attributes"
