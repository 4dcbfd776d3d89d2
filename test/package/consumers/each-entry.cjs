// Requires and imports each entry of the package, and prints the errors without repetition.
const entries = Object.keys(require('./node_modules/messaging-webhooks/package.json').exports).filter(
  (entry) => !entry.endsWith('.json'),
)

async function main() {
  const said = new Set()
  for (const load of [require, (name) => import(name)])
    for (const entry of entries)
      try {
        await load(`messaging-webhooks${entry.slice(1)}`)
        said.add('loaded')
      } catch (error) {
        said.add(`${error.code}: ${error.message}`)
      }
  for (const each of said) console.log(each)
}

main()
