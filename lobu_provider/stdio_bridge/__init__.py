"""The door for the npm package: many calls at once over a pair of pipes, as lines of JSON.

``python -m lobu_provider.stdio_bridge`` serves it; ``protocol`` says what the lines are.
"""
