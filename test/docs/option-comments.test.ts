/** The unit, range and default that a comment states match the schema; a failure shows how the comment must end. */
import { describe, expect, test } from 'vitest'
import { readProjectFile } from '../../docs/markdown.ts'
import { OPTIONS } from '../../docs/options.ts'

test.each(OPTIONS)('the comment of $name', ({ comment, ending }) => {
  expect(comment.endsWith(ending) ? ending : comment).toBe(ending)
})

describe('the comment of a store’s setting names its default', () => {
  const UNITS: Readonly<Record<string, string>> = { MiB: ' * 1024 * 1024', days: '', day: '', ms: '' }

  test.each([
    ['memory', 'store.ts'],
    ['sqlite', 'store.ts'],
    ['postgres', 'settings.ts'],
    ['mysql', 'store.ts'],
    ['redis', 'store.ts'],
  ])('%s', (store, settings) => {
    const source = readProjectFile(`src/stores/${store}/store.ts`)
    const [, schema = ''] = readProjectFile(`src/stores/${store}/${settings}`).split(
      /const (?:bounds|settings)Schema =|^}\)$/m,
    )
    const commented = source.matchAll(/Default (.+)\. \*\/\n {2}readonly (\w+)\?: number/g)
    const said = [...commented].map(([, value = '', name = '']) => {
      const [number = '', unit = ''] = value.split(' ')
      return `${name}: ${number.replaceAll(',', '_')}${unit === '' ? '' : (UNITS[unit] ?? ` of ${unit}`)}`
    })
    const had = [...schema.matchAll(/^ {2}(\w+): (?:number|wholeNumber|days|milliseconds).*\.default\((.+)\),$/gm)]
    expect(said.length).toBeGreaterThan(3)
    expect(said.toSorted()).toEqual(had.map(([, name = '', value = '']) => `${name}: ${value}`).toSorted())
  })
})
