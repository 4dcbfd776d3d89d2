/** The size of a bundled function for AWS Lambda, which determines its cold start. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bundleFunction } from '../../bench/function/bundle.ts'
import { mustRun } from './packed.ts'
import { ownFolder } from '../support/own-folder.ts'

/** 459 and 152 KiB when measured: the Redis store does not share the decisions of `src/messages/` yet. */
const MAX_KIB = { minified: 465, gzipped: 155 }

test('the receiver, the handler for Lambda and the Redis store in one file stay within their limits', async () => {
  const { code, modules, imports } = await bundleFunction()
  expect(Buffer.byteLength(code) / 1_024).toBeLessThan(MAX_KIB.minified)
  expect(gzipSync(code).length / 1_024).toBeLessThan(MAX_KIB.gzipped)

  expect(imports.filter((name) => !name.startsWith('node:'))).toEqual([])
  const packages = modules.map((path) => /node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? 'ours')
  expect([...new Set(packages)].toSorted()).toEqual(['lru-cache', 'ours', 'zod'])
  // The bundle excludes parts that a function does not use; the doctor signs its probes.
  expect(
    modules.filter((path) => /dist\/(cli|emulator|testing\/(?!sign\.js)|stores\/(sqlite|postgres))\//.test(path)),
  ).toEqual([])

  const folder = ownFolder()
  writeFileSync(join(folder, 'index.mjs'), code)
  const invoke = `
    const { handler } = await import(${JSON.stringify(join(folder, 'index.mjs'))})
    console.log((await handler({ httpMethod: 'GET' }, { getRemainingTimeInMillis: () => 3_000 })).statusCode)
    process.exit()`
  expect(await mustRun(process.execPath, ['--input-type=module', '--eval', invoke])).toBe('405\n')
})
