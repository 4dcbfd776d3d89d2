/** The runner in Python and its model receiver: all vectors pass, and the runner names a planted mistake of either side. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../support/program.ts'
import { describePython, PYTHON_ENV } from '../support/python.ts'
import { ownFolder } from '../support/own-folder.ts'
import { vectors } from '../support/vectors.ts'

describePython('the model receiver in Python', () => {
  test('passes', async () => {
    const { code, stdout, stderr } = await run()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(
      (['signature', 'proof', 'normalisation', 'identity', 'sequences'] as const)
        .map((family) => `${family}: ${vectors[family].length} vectors\n`)
        .join(''),
    )
  })

  test.each([
    ['proof', 'model/proof.py', '> 300', '> 301', 't 301 s ago'],
    ['proof', 'model/proof.py', 'digests[:5]', 'digests', 'six v1, the sixth right'],
    ['signature', 'model/proof.py', '{time}.', '{time}', 'a delivery report'],
    ['normalisation', 'model/statuses.py', '{1,15}', '{1,3}', 'carrier A: its number 1001, as text'],
    ['identity', 'model/events.py', 'report["code"], ', '', 'two codes beside one word'],
    ['sequences', 'model/sequences.py', 'now + gap', 'now', 'chat-app: delivered waits for sent'],
    [
      'sequences',
      'model/sequences.py',
      'report["order"][:2] < message["dispatched"][:2]',
      'report["order"] < message["dispatched"]',
      'chat-app: failed and delivered are one step: neither is late, and the t of the signature tells the newest',
    ],
  ])('names a mistake in %s, in %s: %s', async (family, file, right, mistaken, name) => {
    const { code, stdout } = await run((folder) => {
      const path = join(folder, file)
      const source = readFileSync(path, 'utf8')
      expect(source).toContain(right)
      writeFileSync(path, source.replace(right, mistaken))
    })
    expect(code).toBe(1)
    expect(stdout).toContain(`FAILED ${family}: ${name}\n`)
  })

  test('names a wrong vector, and a receiver that throws', async () => {
    const [first] = vectors.signature
    if (first === undefined) throw new Error('There is no vector.')
    const withOnly = (vector: object) => (folder: string) =>
      writeFileSync(join(folder, 'signature.json'), JSON.stringify({ vectors: [vector] }))
    const { code, stdout } = await run(withOnly({ ...first, name: 'planted', v1: '0'.repeat(64) }))
    expect(code).toBe(1)
    expect(stdout).toMatch(/^FAILED signature: planted\n/)
    const thrown = await run(withOnly({ ...first, bodyBase64: 'x' }))
    expect(thrown.code).toBe(1)
    expect(thrown.stdout).toMatch(/^FAILED signature: [^\n]+\n.*\n.*Error/)
  })
})

/** Runs a copy of the folder, with the changes of the test. */
async function run(change: (folder: string) => void = () => {}) {
  const folder = ownFolder()
  cpSync(import.meta.dirname, folder, { recursive: true })
  change(folder)
  return runProgram('python3', [join(folder, 'run.py')], { env: PYTHON_ENV })
}
