/** The SBOM of a release. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { mustRun } from './packed.ts'

test('names the packages that users install, and no development dependencies', { timeout: 240_000 }, async () => {
  const sbom = z.object({ bomFormat: z.literal('CycloneDX'), components: z.array(z.object({ name: z.string() })) })
  const { components } = sbom.parse(JSON.parse(await mustRun(process.execPath, ['test/package/sbom.ts'])))
  const names = components.map(({ name }) => name)
  const needed = ['messaging-webhooks', '@standard-schema/spec', 'commander', 'lru-cache', 'raw-body', 'zod']
  expect(names).toEqual(expect.arrayContaining(needed))
  expect(names).not.toContain('vitest')
  expect(names).not.toContain('pg')
})
