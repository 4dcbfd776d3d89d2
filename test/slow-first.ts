/** Runs the slowest test files first, so that no core is idle at the end of a run. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** In this order; vitest starts the others with the largest file. */
const FIRST = [
  'browser/site.full',
  'end-to-end/sends.full',
  'package/consumers.full',
  'http/adapters/next.full',
  'package/build.full',
  'docs/code.full',
  'end-to-end/soak.full',
  'stores/redis/cluster-faults.full',
  'stores/postgres/conformance.full',
  'stores/redis/conformance.full',
  'stores/redis/cluster.full',
  'end-to-end/cluster/',
  'examples/',
  'end-to-end/cut-anywhere.full',
  'stores/redis/workers.full',
  'stores/sqlite/conformance.full',
  'end-to-end/killed.full',
  'end-to-end/outage/faults.full',
  'end-to-end/quarantine-flood.full',
  'docs/recipes-',
]

function placeOf({ moduleId }: TestSpecification): number {
  const place = FIRST.findIndex((part) => moduleId.includes(`/test/${part}`))
  return place === -1 ? FIRST.length : place
}

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}
